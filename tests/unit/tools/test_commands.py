"""Cutting shell commands for permission rules: certain, or `None`."""

from __future__ import annotations

import pytest

from lastcall.tools.commands import simple_commands


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("git log", ("git log",)),
        ("  git   log -3 ", ("git   log -3",)),
        ("git log && rm -rf x", ("git log", "rm -rf x")),
        ("a;b||c|d|&e&f\ng", ("a", "b", "c", "d", "e", "f", "g")),
        ("git log;", ("git log",)),
        ("git log --format='a; b && c'", ("git log --format='a; b && c'",)),
        ('git commit -m "a; b | c"', ('git commit -m "a; b | c"',)),
        ('grep "it\'s" x; ls', ('grep "it\'s" x', "ls")),
        ("grep a\\;b x", ("grep a\\;b x",)),
        ('echo "$HOME" $USER', ('echo "$HOME" $USER',)),
        ("ls *.py ?x [ab]", ("ls *.py ?x [ab]",)),
    ],
)
def test_simple_commands_are_found(command, parts):
    assert simple_commands(command) == parts


@pytest.mark.parametrize(
    "command",
    [
        "",
        "  ;; ",
        "git log > out",
        "git log < in",
        "git log `rm x`",
        "git log $(rm x)",
        'git log "$(rm x)"',
        'git log "`rm x`"',
        "git log ${x:-$(rm x)}",
        "git log <(rm x)",
        "(git log)",
        "{ git log; }",
        "git log 'open",
        'git log "open',
        "git log $'\\'' ; rm x #'",
        "git log \\\nrm",
        "if git log",
        "! git log",
        "FOO=1 git log",
        "'git' log",
        "gi\\t log",
        "$GIT log",
        "g*t log",
        "~/bin/git log",
        "eval git log",
        ". git",
        "git\0log",
        "for x",
    ],
)
def test_what_cannot_be_followed_is_not_guessed(command):
    assert simple_commands(command) is None
