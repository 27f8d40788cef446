"""The engine's process: `python -m lastcall.providers.local_engine`.

It reads one line of JSON from standard input (what to load and the key that requests must bring), serves on a free port
of the loopback interface, tells the address in one line on standard output, and ends as soon as standard input ends: that
is when the process that started it is gone, however it went. What the engine complains about goes to standard error.

Must not go in here: prompts, grammars, anything of lastcall that would have to be loaded first.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

SPIN_COUNT = "1000"
"""How long a thread of the engine waits busily for the others. Without a bound two threads on two processors that are also
used by others are 10 times slower than one; without waiting at all they are a third slower on a quiet machine."""


def main() -> int:
    """Serve until standard input ends."""
    report = os.dup(1)
    os.dup2(2, 1)  # whatever a library prints is a complaint, never the address
    wishes = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT
    try:
        server = _serve(wishes)
        answer = {"url": server.listening_address}
    except Exception as error:  # noqa: BLE001 -- the engine raises what it likes; this process can only tell it and end
        server, answer = None, {"error": f"{type(error).__name__}: {error}"}
    os.write(report, json.dumps(answer).encode() + b"\n")
    os.close(report)
    if server is None:
        return 1
    threading.Event().wait()
    return 0


def _end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)  # at once: the engine's own end waits for requests that nobody hears any more


def _serve(wishes: dict[str, Any]) -> Any:
    import xllamacpp  # noqa: PLC0415 -- after the environment is set

    params = xllamacpp.CommonParams()
    params.model.path = wishes["model"]
    params.model_alias = {wishes["alias"]}
    params.api_keys = [wishes["key"]]
    params.n_ctx = wishes["context"]
    params.n_parallel = wishes["slots"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = wishes["threads"]
    params.n_batch = params.n_ubatch = wishes["batch"]
    params.n_gpu_layers = 0
    params.cache_ram_mib = 0  # the default keeps up to 8 GiB of old conversations
    params.ui = params.endpoint_slots = params.warmup = params.fit_params = False
    params.verbosity = 1  # errors: a grammar that the engine drops is told there and nowhere else
    return xllamacpp.Server(params)


if __name__ == "__main__":
    os._exit(main())  # an ordinary end would wait for the thread that reads standard input
