"""The two profiles of the one machine."""

from __future__ import annotations

from enum import StrEnum


class Reference(StrEnum):
    """The versions of the reference whose words compat can use. What it does is the same in both."""

    RECORDED = "2.1.235"
    LATER = "2.1.332"


class Profile(StrEnum):
    """`NATIVE` never lies; `COMPAT` does what the reference (Claude Code 2.1.235) does, exit codes included."""

    NATIVE = "native"
    COMPAT = "compat"
