"""`lastcall doctor`: what is configured, what would be used by default and why, what is missing.

Values of variables are never shown, only their names: they may be keys. Nothing is sent, downloaded or changed.

Must not go in here: gathering the facts (`cli.checkup`).
"""

from __future__ import annotations

import os

import click
import msgspec

from lastcall.cli.checkup import Checkup, check_up
from lastcall.cli.say import say


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def doctor(*, as_json: bool) -> int:
    """What is configured, what would be used, what is missing. Exit code 1 if a run could not begin."""
    checkup = check_up(dict(os.environ))
    say(msgspec.json.encode(checkup).decode() if as_json else report(checkup))
    return 0 if checkup.ok else 1


def report(checkup: Checkup) -> str:
    """The facts as lines for a person."""
    lines = [
        f"lastcall {checkup.version}, Python {checkup.python}, {checkup.platform}",
        "",
        "Model",
        f"  by default      {checkup.default.model or 'none'}: {checkup.default.why}",
    ]
    for provider in checkup.providers:
        named = ", ".join(provider.variables) or "nothing set"
        lines.append(f"  {provider.name:<15} {'configured' if provider.configured else 'not configured'} ({named})")
    engine = checkup.engine
    lines.append(
        f"  {'local':<15} {'engine ' + engine.version if engine.version else 'no engine'}{_remedy(engine.remedy)}"
    )
    for model in checkup.models:
        size = f"{model.size_bytes / 1e9:.1f} GB"
        state = f"here ({size})" if model.present else f"not here; {size} at the first use, or: lastcall models pull"
        lines.append(f"  {'local:' + model.name:<15} {state}")
    if checkup.proxies:
        lines.append(f"  {'proxy':<15} {', '.join(checkup.proxies)}")
    lines += ["", "Folders"]
    for folder in checkup.folders:
        state = "writable" if folder.writable else "NOT WRITABLE"
        lines.append(f"  {folder.purpose:<15} {folder.path} ({state}{'' if folder.exists else ', made when needed'})")
    lines += ["", "Extras"]
    for extra in checkup.extras:
        state = "installed" if not extra.missing else f"not installed: pip install 'lastcall[{extra.name}]'"
        lines.append(f"  {extra.name:<15} {state}")
    lines += ["", "Programs"]
    lines += [f"  {program.name:<15} {program.path or 'not found'}: {program.use}" for program in checkup.programs]
    if checkup.troubles:
        lines += ["", "What has to be mended before a run can begin", *(f"  {trouble}" for trouble in checkup.troubles)]
    return "\n".join(lines)


def _remedy(remedy: str) -> str:
    return f": {remedy}" if remedy else ""
