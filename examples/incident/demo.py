"""The product on one screen: a log file becomes a verified object.

    python examples/incident/demo.py [--model local:standard]

The model reads `app.log` with a tool and calls `StructuredOutput`; what it sends is checked on this machine against
`incident.json`. The small embedded model gets the text in the prompt and no tool. Any other model of `lastcall --model`
does too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LOG = "app.log"
WITH_TOOL = f"Read the file {LOG} and report the incident in it."
WITHOUT_TOOL = "Report the incident in this log.\n\n"


def command(model: str) -> list[str]:
    small = model == "local:small"
    prompt = WITHOUT_TOOL + (HERE / LOG).read_text("utf-8") if small else WITH_TOOL
    words = [sys.executable, "-m", "lastcall", "-p", prompt, "--json-schema", "@incident.json", "--model", model]
    words += ["--tools", "" if small else "Read", "--output-format", "stream-json", "--verbose"]
    return [*words, "--no-session-persistence"]


def frames(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


def heading(words: str) -> None:
    print(f"\n\033[1m{words}\033[0m" if sys.stdout.isatty() else f"\n== {words}", flush=True)


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip("\n").splitlines())


def show_block(block: dict[str, Any]) -> None:
    """A piece of what the model said, or of what it was told."""
    match block.get("type"):
        case "text" if block["text"].strip():
            print(indented(block["text"]))
        case "tool_use":
            arguments = json.dumps(block["input"], ensure_ascii=False)
            print(f"    the model calls {block['name']} {arguments}")
        case "tool_result":
            told = block["content"] if isinstance(block["content"], str) else json.dumps(block["content"])
            lines = told.strip().splitlines() or [""]
            more = f" (+{len(lines) - 1} lines)" if len(lines) > 1 and not block.get("is_error") else ""
            told = "\n".join(lines) if block.get("is_error") else lines[0] + more
            print("    it is told:     " + told.replace("\n", "\n                    "))
        case _:
            return
    sys.stdout.flush()


def show_end(envelope: dict[str, Any], seconds: float) -> None:
    facts = envelope.get("lastcall", {})
    heading("Attempts")
    for attempt in facts.get("attempts", []):
        print(f"    {attempt['n']}: {attempt['verdict']}")
        for problem in attempt["problems"]:
            print(f"       {problem['path'] or 'root'}: {problem['message']}")
    heading("The verified object" if "structured_output" in envelope else "No object")
    if "structured_output" in envelope:
        print(indented(json.dumps(envelope["structured_output"], indent=2, ensure_ascii=False)))
    heading("The envelope says")
    print(f"    outcome: {facts.get('outcome')}\n    reason:  {facts.get('reason')}")
    print(f"    tokens:  {envelope['usage']['input_tokens']} in, {envelope['usage']['output_tokens']} out")
    print(f"    time:    {seconds:.0f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description="A log file becomes a verified object.")
    parser.add_argument("--model", default="local:standard", help="any model that lastcall takes")
    model = parser.parse_args().model
    heading(f"The incident ({LOG})")
    print(indented((HERE / LOG).read_text("utf-8")))
    heading("The contract (incident.json)")
    print(indented((HERE / "incident.json").read_text("utf-8")))
    heading(f"The run ({model})")
    envelope: dict[str, Any] = {}
    start = time.monotonic()
    with subprocess.Popen(command(model), cwd=HERE, stdout=subprocess.PIPE) as process:
        for frame in frames(process):
            if frame["type"] == "result":
                envelope = frame
            elif frame["type"] in {"assistant", "user"}:
                for block in frame["message"]["content"]:
                    show_block(block)
    show_end(envelope, time.monotonic() - start)
    print(f"    exit code: {process.returncode}")
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
