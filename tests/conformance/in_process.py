"""One recorded case against the command in this process: same flags, same script, no socket and no subprocess.

The scripted provider stands where the endpoint was; everything else is the command's own code. What is seen has the form
that `record.py` gives to a run of a real executable, so that `score.py` judges both alike.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from record import Norm, Runner, build

from lastcall.cli.args import BadFlag, parse
from lastcall.cli.output import Notes, Output
from lastcall.cli.run import run_print
from lastcall.cli.stdin import Stdin
from lastcall.providers.http import Settings
from lastcall.providers.models import full_name
from lastcall.providers.scripted import scripted_provider
from lastcall.runtime.session import limits_of, open_session
from lastcall.wire.dialect import ANTHROPIC

PORT = 1


class Lines(Output):
    """Standard output that is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


class Kept(Notes):
    """Standard error that is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def error(self, line: str) -> None:
        self.text += line + "\n"


class Piped(Stdin):
    """Standard input that a case gives."""

    def __init__(self, text: str | None) -> None:
        super().__init__()
        self._text = text or ""
        self._is_piped = text is not None

    @property
    def piped(self) -> bool:
        return self._is_piped


def observe(case: dict[str, Any], root: Path, profile: str) -> dict[str, Any]:
    """What a caller sees of the case; `root` is a fresh directory."""
    cwd, home = root / "cwd", root / "home"
    cwd.mkdir()
    home.mkdir()
    place = {"$CWD": str(cwd), "$HOME": str(home), "$BASE_URL": f"http://127.0.0.1:{PORT}"}

    def expand(value: Any) -> Any:
        value = build(value)
        if isinstance(value, str):
            for name, path in place.items():
                value = value.replace(name, path)
            return value
        if isinstance(value, list):
            return [expand(v) for v in value]
        if isinstance(value, dict):
            return {k: expand(v) for k, v in value.items()}
        return value

    for name, content in (case.get("files") or {}).items():
        path = (home / name.removeprefix("$HOME/")) if name.startswith("$HOME/") else cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(expand(content), encoding="utf-8", errors="surrogatepass")
    env = {"HOME": str(home), "ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": place["$BASE_URL"]}
    env |= {"LASTCALL_PROFILE": profile, "LASTCALL_STATE_DIR": str(home / "state"), "LASTCALL_CACHE_DIR": str(home)}
    env |= {"LASTCALL_LOG": "debug"}
    env |= {k: expand(v) for k, v in (case.get("env") or {}).items() if v is not None}
    for gone in (k for k, v in (case.get("env") or {}).items() if v is None):
        env.pop(gone, None)
    argv = [expand(a) for a in case["argv"]]
    output, notes = Lines(), Kept()
    requests: list[Any] = []
    before = Path.cwd()
    os.chdir(cwd)
    try:
        code = _run(argv, env, expand(case["model_replies"]), expand(case.get("stdin")), output, notes, requests)
    finally:
        os.chdir(before)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)  # for the recorder's own code, after the run
    try:
        return _observed(code, argv, output.data.decode(), notes.text, requests, Norm(str(root), PORT))
    finally:
        sys.setrecursionlimit(limit)


def _run(argv, env, script, stdin, output, notes, requests) -> int:
    try:
        args = parse(argv)
    except BadFlag as error:
        notes.error(f"error: {error.message}")
        return 1 if env["LASTCALL_PROFILE"] == "compat" else 2

    def opener(config, publisher_for, **more):
        model = full_name(config.model or "sonnet", env)
        provider = scripted_provider(
            script, model=model, settings=Settings(profile=config.profile, limits=limits_of(config)), dialect=ANTHROPIC
        )
        session = open_session(config, publisher_for, provider, **more)
        requests.append(provider)
        return session

    code = run_print(args, env, stdin=Piped(stdin), output=output, notes=notes, opener=opener)
    requests[:] = [{"body": body} for provider in requests for body in provider.requests]
    return code


def _observed(code: int, argv: list[str], stdout: str, stderr: str, requests: list[Any], norm: Norm) -> dict[str, Any]:
    """The recorder's own form of what was seen."""

    class Seen:
        pass

    api = Seen()
    api.requests = requests
    return Runner("").observe(code, False, stdout, stderr, argv, api, 0, norm)


def load_case(path: Path) -> dict[str, Any]:
    """A recorded case."""
    return json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
