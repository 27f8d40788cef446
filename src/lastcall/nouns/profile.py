"""The two profiles of the one machine."""

from __future__ import annotations

from enum import StrEnum


class Profile(StrEnum):
    """`NATIVE` never lies; `COMPAT` does what the reference (Claude Code 2.1.235) does, exit codes included."""

    NATIVE = "native"
    COMPAT = "compat"
