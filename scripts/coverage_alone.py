"""Coverage of each module of the pure layers by its own test file alone: `python scripts/coverage_alone.py [MODULE...]`.

A module that is covered only because other tests pass through it is not tested. Prints what is missing; exit code 1 if
anything is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "lastcall"
LAYERS = ("nouns", "contract", "core", "wire")
WORKERS = 2


def test_files(module: Path) -> list[Path]:
    """The module's own test file; of a package's `__init__`, the one named after the package."""
    parts = module.relative_to(SOURCE).parts
    name = parts[-2] if parts[-1] == "__init__.py" else parts[-1].removesuffix(".py")
    folder = ROOT.joinpath("tests", "unit", *parts[:-1])
    places = (folder, folder.parent) if parts[-1] == "__init__.py" else (folder,)
    return [found for place in places if (found := place / f"test_{name.lstrip('_')}.py").exists()]


def missing(module: Path) -> str:
    """What the module's own tests leave out; `""` if nothing."""
    tests = test_files(module)
    if not tests:
        return "" if not has_code(module) else "no test file of its own"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, tests)]
        command += ["--cov=lastcall", "--cov-branch", f"--cov-report=json:{report}"]
        environment = {**os.environ, "COVERAGE_FILE": str(Path(folder, "data"))}
        ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if ran.returncode:
            return f"its tests fail:\n{ran.stdout[-2000:]}"
        files = json.loads(report.read_text())["files"]
    found = files.get(str(module.relative_to(ROOT)))
    if found is None:
        return "its tests never import it"
    lines, branches = found["missing_lines"], found["missing_branches"]
    words = [f"lines {', '.join(map(str, lines))}"] if lines else []
    words += [f"branches {', '.join(f'{a}->{b}' for a, b in branches)}"] if branches else []
    return "; ".join(words)


def has_code(module: Path) -> bool:
    """Whether there is anything to run in it beyond declarations."""
    return "    def " in module.read_text("utf-8") or "\ndef " in module.read_text("utf-8")


def main() -> int:
    given = [Path(name).resolve() for name in sys.argv[1:]]
    modules = given or [path for layer in LAYERS for path in sorted((SOURCE / layer).rglob("*.py"))]
    with ThreadPoolExecutor(WORKERS) as pool:
        found = dict(zip(modules, pool.map(missing, modules), strict=True))
    for module, words in found.items():
        if words:
            print(f"{module.relative_to(SOURCE)}: {words}")
    bad = sum(bool(words) for words in found.values())
    print(f"{len(modules) - bad} of {len(modules)} modules are covered by their own tests alone")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
