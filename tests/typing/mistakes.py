"""Mistakes of a user that type checkers must find; each is marked, and an unused mark fails the test."""

from __future__ import annotations

from pydantic import BaseModel

import lastcall


class Invoice(BaseModel):
    total: int


@lastcall.hook("before_request")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
def sentence(question: lastcall.RequestQuestion) -> str:
    return "Be brief."


@lastcall.hook("rejected")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
def confused(question: lastcall.ReplySeen) -> None:
    return None


def mistakes() -> None:
    result = lastcall.run("x", output=Invoice)
    result.output.vendor = 3  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]
    wrong: str = lastcall.run("x", output=Invoice).output  # type: ignore[assignment] # pyright: ignore[reportAssignmentType]
    lastcall.run("x", outptu=Invoice)  # type: ignore[call-overload] # pyright: ignore[reportCallIssue]
    lastcall.run("x", model=3)  # type: ignore[call-overload] # pyright: ignore[reportArgumentType]
    lastcall.RunConfig(max_atempts=3)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    lastcall.nothing()  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    lastcall.hook("befor_tool")  # type: ignore[call-overload] # pyright: ignore[reportCallIssue, reportArgumentType]
    print(wrong)
