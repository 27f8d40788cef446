"""Which signals end a run, and what they mean.

Must not go in here: hearing them (`cli.run`, `cli.stream`), exit codes (`cli.exits`).
"""

from __future__ import annotations

import signal
from typing import Final

from lastcall.nouns.result import Signal

ENDING: Final = {
    signal.SIGINT: Signal.INTERRUPT,
    signal.SIGTERM: Signal.TERMINATE,
    **({signal.SIGHUP: Signal.HANGUP} if hasattr(signal, "SIGHUP") else {}),
}


def heard() -> tuple[signal.Signals, ...]:
    """Those to listen to: a hangup only where the parent does not want it ignored (`nohup`)."""
    return tuple(
        number for number in ENDING if number.name != "SIGHUP" or signal.getsignal(number) is not signal.SIG_IGN
    )
