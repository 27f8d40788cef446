"""A kit for testing code that uses lastcall, without a model.

`ScriptedModel` says what it is told to; `BadModel` misbehaves in one named way; `FakeClock` moves when it is told to;
`Recording` plays a real run again; `check_provider`, `check_tool` and `check_journal` say whether a third party's
part keeps its promises. The pytest plugin (`lastcall.testing.plugin`) comes with the package.

Must not go in here: anything that a run without tests needs.
"""

from lastcall.journal.store import MemoryJournal
from lastcall.testing.bad_models import BAD_KINDS, BadModel
from lastcall.testing.checks import check_journal, check_provider, check_tool
from lastcall.testing.clock import FakeClock
from lastcall.testing.models import ScriptedModel
from lastcall.testing.recording import Recording

__all__ = [
    "BAD_KINDS",
    "BadModel",
    "FakeClock",
    "MemoryJournal",
    "Recording",
    "ScriptedModel",
    "check_journal",
    "check_provider",
    "check_tool",
]
