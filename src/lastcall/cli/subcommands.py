"""The words that are commands of their own, and where each lives. Loaded when named."""

from __future__ import annotations

from importlib import import_module
from typing import Final

SUBCOMMANDS: Final[dict[str, tuple[str, str]]] = {
    "batch": ("lastcall.cli.batch:batch", "One prompt and one contract for every row of a file."),
    "schema": ("lastcall.cli.schema:schema", "Check, convert, explain a schema, or show a sample."),
    "models": ("lastcall.cli.models:models", "List, pull, verify or remove embedded models."),
    "sessions": ("lastcall.cli.sessions:sessions", "List, show, resume, remove or export sessions."),
    "view": ("lastcall.cli.view:view", "A run, a batch or a probe as a page."),
    "replay": ("lastcall.cli.replay:replay_session", "A recorded session against today's contract, offline."),
    "serve": ("lastcall.cli.serve:serve", "Serve runs over HTTP."),
    "mcp": ("lastcall.cli.mcp_server:serve_mcp", "Serve the tool run over MCP."),
    "verify": (
        "lastcall.cli.verify:verify_envelope",
        "An envelope against its receipt, contract and journal, offline.",
    ),
    "probe": ("lastcall.cli.probe:probe", "How a model behaves against each kind of constraint, measured."),
    "doctor": ("lastcall.cli.doctor:doctor", "What is configured, what would be used, what is missing."),
}
"""name -> (module:click command, what it does)"""


def run_subcommand(name: str, words: list[str]) -> int:
    """Run a subcommand; its exit code. A `LastcallError` is one sentence on stderr."""
    import click  # noqa: PLC0415 -- 30 ms that `lastcall -p` does not need

    from lastcall.cli.refusals import say_error  # noqa: PLC0415
    from lastcall.errors import LastcallError  # noqa: PLC0415

    module, _, attribute = SUBCOMMANDS[name][0].partition(":")
    command = getattr(import_module(module), attribute)
    try:
        code = command.main(args=words, prog_name=f"lastcall {name}", standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return 130
    except click.ClickException as error:
        error.show()
        return 2
    except LastcallError as error:
        return say_error(error)
    return code if isinstance(code, int) else 0
