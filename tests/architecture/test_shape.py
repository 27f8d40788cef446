"""Rules of the house that a reader of one file cannot see."""

from __future__ import annotations

import ast
import re

import pytest

from architecture.sources import PACKAGE, PURE_LAYERS, ROOT, calls_of, dotted, modules, tree

FACTORIES = {
    "OutputSchema": {"contract.parse"},
    "StrictSchema": {"contract.strict"},
    "ToolDefinition": {"nouns.tools"},
    "ToolCall": {"wire.json"},
    "Attachment": {"core.calls"},
    "TerminalResult": {"runtime.finish"},
}
"""The six states that must never be confused, and the one module that makes each."""

FORBIDDEN_WORDS = {"manager", "helper", "helpers", "util", "utils", "handler", "handlers", "data", "info"}


@pytest.mark.parametrize("state", FACTORIES)
def test_each_of_the_six_states_is_made_in_one_module(state):
    assert {dotted(path) for path in calls_of(state)} == FACTORIES[state]


def functions_with_imports():
    for path in modules():
        lines = path.read_text("utf-8").splitlines()
        for function in ast.walk(tree(path)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Import | ast.ImportFrom):
                        yield path, node.lineno, lines[node.lineno - 1]


def test_imports_inside_functions_are_marked_gates():
    unmarked = [
        f"{dotted(path)}:{number}"
        for path, number, line in functions_with_imports()
        if not re.search("noqa:.*PLC0415", line)
    ]
    assert unmarked == []


def offers_code(module):
    """Whether a module offers functions or methods that do something (protocols and tables do not)."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            statements = [x for x in node.body if not (isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant))]
            if statements:
                return True
    return False


def test_every_module_of_the_pure_layers_has_its_own_test_file():
    missing = []
    for path in modules():
        parts = path.relative_to(PACKAGE).parts
        if parts[0] not in PURE_LAYERS or not offers_code(tree(path)):
            continue
        name = parts[-2] if parts[-1] == "__init__.py" else parts[-1].removesuffix(".py")
        folder = ROOT / "tests" / "unit" / "/".join(parts[:-1])
        if not any((place / f"test_{name.lstrip('_')}.py").exists() for place in (folder, folder.parent)):
            missing.append(dotted(path))
    assert missing == []


NAMED_BY_OTHERS = {"estimate_inmemory_data_size"}
"""Methods that a library calls by these names."""


def words_of(name):
    """The words of an identifier: `open_tool` and `OpenTool` are both open, tool."""
    spaced = "".join(f"_{character.lower()}" if character.isupper() else character for character in name)
    return [word for word in spaced.split("_") if word]


def test_no_module_function_or_class_has_a_name_that_says_nothing():
    bad = []
    for path in modules():
        names = [path.stem]
        names += [
            node.name
            for node in ast.walk(tree(path))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        for name in names:
            words = words_of(name)
            if name in NAMED_BY_OTHERS:
                continue
            if FORBIDDEN_WORDS & set(words) or words[:1] == ["process"]:
                bad.append(f"{dotted(path)}: {name}")
    assert bad == []


def test_every_exception_is_caught_only_where_code_of_others_runs_and_at_the_very_top():
    """A tool's is told to the model, a caller's type's is a problem or a refusal, ours is exit code 70."""
    catching = set()
    for path in modules():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ExceptHandler):
                kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
                if any(kind is None or getattr(kind, "id", "") == "Exception" for kind in kinds):
                    catching.add(dotted(path))
    assert catching == {
        "tools.running",
        "contract.cel",
        "contract.from_types",
        "providers.local_engine",
        "cli.run",
        "api.hook_client",
        "api.rules",
        "api.sketching",
        "tools.mcp",
        "batches.ray_engine",
        "server.desk",
        "server.house",
    }


def test_every_module_says_what_it_holds():
    silent = [dotted(path) for path in modules() if ast.get_docstring(tree(path)) is None and tree(path).body]
    assert silent == []


def test_no_module_is_longer_than_a_reader_can_hold():
    long = {dotted(path): n for path in modules() if (n := len(path.read_text("utf-8").splitlines())) > 500}
    assert long == {}


def is_one_match(function):
    """Whether a function is one `match` over a union, a few lines a case: long, and still a table."""
    statements = [node for node in function.body if not isinstance(node, ast.Expr)]
    return len(statements) == 1 and isinstance(statements[0], ast.Match)


def test_no_function_is_longer_than_a_screen():
    long = []
    for path in modules():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > (90 if is_one_match(node) else 60):
                    long.append(f"{dotted(path)}.{node.name}: {length}")
    assert long == []
