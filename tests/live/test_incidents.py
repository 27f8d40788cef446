"""Incident notes with the embedded models. The standard model's figures are those of the issue; nothing is tuned to them.

The standard model runs where `LASTCALL_TEST_STANDARD` is set (or its weights lie here already): it is a gigabyte.
"""

from __future__ import annotations

import os

import anyio
import pytest

from incident_tools import Tried, open_model, rows, try_row
from lastcall.providers.local_cache import FOLDER_VARIABLE, Shelf, models_folder
from lastcall.providers.local_catalogue import STANDARD

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.timeout(3_600)]


def standard_is_wanted() -> bool:
    shelf = Shelf(models_folder(os.environ.get(FOLDER_VARIABLE)), STANDARD)
    return bool(os.environ.get("LASTCALL_TEST_STANDARD")) or shelf.is_marked()


on_standard = pytest.mark.skipif(not standard_is_wanted(), reason="the standard model is not here")


def tried(model: str, name: str, *, declines: bool = True) -> list[Tried]:
    async def run() -> list[Tried]:
        provider = open_model(model)
        try:
            return [await try_row(provider, row, declines=declines) for row in rows(name)]
        finally:
            await provider.aclose()

    done = anyio.run(run)
    for one in done:
        print(one.id, f"{one.seconds:.1f} s", one.outcome, "right" if one.right else f"wrong: {one.wrong} {one.found}")
    print(
        f"{model}, {name}: valid {sum(o.found is not None for o in done)}, right {sum(o.right for o in done)} of {len(done)}"
    )
    return done


@pytest.mark.usefixtures("small_weights")
@pytest.mark.parametrize("name", ["notes", "held_out"])
def test_the_small_model_always_ends_in_a_valid_object_when_it_may_not_decline(name: str) -> None:
    done = tried("small", name, declines=False)
    assert [one.id for one in done if one.found is None] == []


@on_standard
def test_the_standard_model_takes_twenty_notes_of_twenty_and_at_least_seventeen_right() -> None:
    done = tried("standard", "notes")
    assert [one.id for one in done if one.found is None] == []
    assert sum(one.right for one in done) >= 17


@on_standard
def test_the_standard_model_reads_a_file_first_and_is_right_eight_times_of_ten() -> None:
    done = tried("standard", "read")
    assert sum(one.right for one in done) >= 8
    assert all(one.turns > 2 for one in done if one.right)  # it did look
