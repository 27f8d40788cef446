"""Flags that cannot all be meant are refused by name."""

from __future__ import annotations

import pytest

from lastcall.cli.args import parse
from lastcall.cli.contradictions import refuse_contradictions
from lastcall.errors import BadConfig

REFUSED = [
    (["--decline", "--no-decline"], "--decline and --no-decline contradict"),
    (["--resume", "a", "--continue"], "--resume and --continue contradict"),
    (["--resume", "a", "--no-session-persistence"], "--resume and --no-session-persistence"),
    (["-c", "--no-session-persistence"], "--continue and --no-session-persistence"),
    (["-q", "-V"], "--quiet and --verbose contradict"),
    (["--quiet", "--explain"], "--quiet and --explain"),
    (["--compact-after-turns", "3", "--no-compact"], "--compact-after-turns and --no-compact"),
    (["--bare", "--setting-sources", "user"], "--bare and --setting-sources"),
    (["--dangerously-skip-permissions", "--permission-mode", "plan"], "--dangerously-skip-permissions and"),
    (
        ["--redact", "--include-partial-messages", "--output-format", "stream-json"],
        "--redact and --include-partial-messages",
    ),
    (["--fork-session"], "--fork-session means nothing without --resume or --continue"),
    (["--resume-session-at", "m"], "--resume-session-at means nothing without"),
    (["--check-timeout", "3s"], "--check-timeout means nothing without --check"),
    (["--include-partial-messages"], "means nothing without --output-format stream-json"),
    (["--include-hook-events", "--output-format", "json"], "means nothing without --output-format stream-json"),
    (["--replay-user-messages"], "means nothing without --output-format stream-json"),
    (["--input-format", "stream-json"], "needs --output-format stream-json"),
    (["--input-format", "stream-json", "--output-format", "stream-json", "--json-schema", "-"], "both read stdin"),
    (["--json-schema", "{}", "--json-schema", "true"], "--json-schema is given twice with different values"),
    (["--model", "a", "--model=b"], "--model is given twice"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_what_contradicts_itself_is_refused_by_name(words, sentence):
    with pytest.raises(BadConfig) as caught:
        refuse_contradictions(parse(words))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "words",
    [
        ["-p", "hi", "--json-schema", "{}", "--json-schema", "{}"],
        ["--resume", "a", "--fork-session", "--resume-session-at", "m"],
        ["--check", "true", "--check", "false", "--check-timeout", "3s"],
        ["--include-partial-messages", "--output-format", "stream-json", "--input-format", "stream-json"],
        ["--tools", "Read", "--tools", "Bash"],
        ["--rule", "a", "--rule", "b", "--redact", "x", "--redact", "y"],
        ["--decline", "--decline"],
        [],
    ],
)
def test_what_goes_together_is_left_alone(words):
    refuse_contradictions(parse(words))
