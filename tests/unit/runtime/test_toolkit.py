"""The tools of a session: which are offered, and what they are told of the model."""

from __future__ import annotations

import anyio
import pytest

from lastcall.nouns.ids import CallId, MessageId
from lastcall.nouns.tools import Arguments, ResultKind, ToolCall
from lastcall.runtime.config import RunConfig
from lastcall.runtime.toolkit import ToolKit

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.mark.parametrize("small", [False, True])
def test_images_are_shown_to_models_that_take_them_only(tmp_path, small):
    (tmp_path / "a.png").write_bytes(PNG)
    kit = ToolKit(RunConfig(cwd=str(tmp_path)), sparing=small)
    call = ToolCall(CallId("c1"), MessageId("m1"), "Read", Arguments('{"file_path": "a.png"}'))

    async def run():
        return await kit.run(call, anyio.CancelScope())

    result = anyio.run(run)
    assert result.kind is (ResultKind.FAILED if small else ResultKind.OK)
    assert result.blocks is not small


def test_a_small_model_is_offered_read_alone_unless_more_is_named(tmp_path):
    def names(**fields):
        kit = ToolKit(RunConfig(cwd=str(tmp_path), **fields), sparing=True)
        return [tool.definition.name for tool in kit.toolbox]

    assert names() == ["Read"]
    assert names(tools="Glob,Read") == ["Glob", "Read"]
