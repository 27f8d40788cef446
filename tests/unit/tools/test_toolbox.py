"""A toolbox is a list: its order, its names, what was taken out."""

from __future__ import annotations

import pytest

from lastcall.errors import BadConfig
from lastcall.nouns.tools import define
from lastcall.tools import Toolbox
from lastcall.tools.files import ReadFile


class Named(ReadFile):
    def __init__(self, name):
        self.definition = define(name, "A tool.", {"type": "object"})


def names(toolbox):
    return [definition.name for definition in toolbox.definitions]


def test_tools_keep_their_order_and_are_found_by_their_very_name():
    tools = [Named("b"), Named("a"), Named("B")]
    toolbox = Toolbox(tools)
    assert names(toolbox) == ["b", "a", "B"]
    assert len(toolbox) == 3
    assert list(toolbox) == tools
    assert toolbox.get("B") is tools[2]
    assert toolbox.get("c") is None


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(BadConfig, match="two tools are called 'a'"):
        Toolbox([Named("a"), Named("a")])


def test_what_was_taken_out_is_known_as_switched_off():
    toolbox = Toolbox([Named("a"), Named("b"), Named("c")], known=["z", "a"])
    assert toolbox.switched_off == {"z"}
    fewer = toolbox.only(["c", "a", "other"])
    assert names(fewer) == ["a", "c"]
    assert fewer.switched_off == {"z", "b"}
    assert names(fewer.without(["a"])) == ["c"]
    assert fewer.without(["a"]).switched_off == {"z", "b", "a"}
    assert names(toolbox) == ["a", "b", "c"]
