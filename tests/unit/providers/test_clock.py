"""Time, chance and names."""

import re
import time
import uuid

import anyio

from lastcall.providers.clock import Clock, ImpatientClock


def test_names_are_random_uuids() -> None:
    names = {Clock().mint() for _ in range(100)}
    assert len(names) == 100
    for name in names:
        assert uuid.UUID(name).version == 4
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", name)


def test_the_clock_is_this_machines() -> None:
    clock = Clock()
    assert abs(clock.now() - time.time()) < 5
    assert clock.ticks() <= clock.ticks()
    assert 0 <= clock.chance() < 1


def test_waiting_waits_and_the_impatient_do_not() -> None:
    began = time.monotonic()
    anyio.run(Clock().sleep, 0.01)
    assert time.monotonic() - began >= 0.01
    with_timeout = time.monotonic()
    anyio.run(ImpatientClock().sleep, 3600)
    assert time.monotonic() - with_timeout < 60
