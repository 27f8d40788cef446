"""The OpenAPI document: every route, what it takes, every answer it gives. The bodies' schemas are made from the values.

A test asks the running server for every route that stands here, and the routes for every one that does not.

Must not go in here: answering.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from lastcall.server.bodies import CheckRequest, ContractView, Health, RunList, RunRequest, RunView
from lastcall.server.rows import State
from lastcall.server.runs_table import OUTCOMES
from lastcall.version import VERSION

_BODIES: Final = (RunRequest, CheckRequest, ContractView, Health, RunList, RunView)
_REF: Final = "#/components/schemas/{name}"
_REFUSALS: Final[dict[int, str]] = {
    400: "The request is no HTTP that can be relied upon, or its body is not what the form asks for.",
    401: "A token is needed, or it lets nobody in.",
    403: "A page of another site asks.",
    404: "There is no such run, model or route.",
    408: "The request did not arrive in time.",
    409: "The run was cancelled.",
    413: "The body is too long.",
    414: "Path or query are too long.",
    415: "The body is not JSON.",
    421: "The request is for another host.",
    422: "The request cannot be used, or the run ended without an object (`lastcall.outcome` says how).",
    429: "Too many requests or runs, or the queue is full; `retry-after` says when. Or the service's own limit.",
    431: "The headers are too long.",
    500: "A fault of lastcall.",
    501: "An optional part that the request needs is not installed.",
    502: "The model's service refused or failed.",
    503: "The server goes down, its database is away, or the model's service is overloaded.",
    504: "The deadline passed, or the model's service was silent.",
}
_ALWAYS: Final = (400, 401, 403, 408, 413, 414, 415, 421, 429, 431, 500, 503)
_RUN: Final = (404, 409, 422, 501, 502, 504)

_ENVELOPE: Final[dict[str, Any]] = {
    "type": "object",
    "description": "How a run ended, or why there was none; the same object as `lastcall -p --output-format json` prints.",
    "required": ["type", "subtype", "is_error", "lastcall"],
    "properties": {
        "type": {"const": "result"},
        "subtype": {"type": "string"},
        "is_error": {"type": "boolean"},
        "session_id": {"type": "string"},
        "structured_output": {
            "description": "The verified object; there exactly when the run succeeded with a schema."
        },
        "result": {"type": "string"},
        "errors": {"type": "array", "items": {"type": "string"}},
        "lastcall": {
            "type": "object",
            "required": ["outcome", "reason", "attempts"],
            "properties": {
                "outcome": {"type": "string"},
                "reason": {"type": "string"},
                "attempts": {"type": "array", "items": {"type": "object"}},
            },
        },
    },
}
_VENDOR: Final = {"type": "object", "description": "In the vendor's own form."}
_EVENTS: Final[dict[str, Any]] = {"text/event-stream": {}}


def _vendor_request(*required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": "As the vendor documents it; what cannot be honoured is refused by name, never passed over.",
        "required": ["model", "messages", *required],
        "properties": {
            "model": {"type": "string"},
            "messages": {"type": "array", "minItems": 1, "items": {"type": "object"}},
            "max_tokens": {"type": "integer", "minimum": 1},
            "stream": {"type": "boolean"},
        },
    }


_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same key (and request) is the same run, also after a crash.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
_LAST: Final = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "The last event that arrived: the stream goes on behind it.",
    "schema": {"type": "string", "pattern": "^[0-9]{1,9}$"},
}
_RUN_ID: Final = {
    "name": "run_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": "^run_[0-9a-f]{32}$"},
}
_QUERY: Final = [
    {"name": "state", "in": "query", "schema": {"enum": [str(state) for state in State]}},
    {"name": "outcome", "in": "query", "schema": {"enum": list(OUTCOMES)}},
    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 200}},
    {"name": "before", "in": "query", "schema": {"type": "string", "pattern": "^run_[0-9a-f]{32}$"}},
]


@cache
def document() -> bytes:
    """The document as JSON."""
    _, components = msgspec.json.schema_components(_BODIES, ref_template=_REF)
    schemas = {**components, "Envelope": _ENVELOPE}
    schemas["RunRequest"]["properties"]["schema"] = {"type": ["object", "null"]}
    schemas["CheckRequest"]["properties"]["schema"] = {"type": "object"}
    schemas["RunView"]["properties"]["result"] = {"anyOf": [{"type": "null"}, _ref("Envelope")]}
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "lastcall",
                "version": VERSION,
                "description": "Runs of a model that end in a verified object, or say exactly why not.",
            },
            "security": [{"bearer": []}, {}],
            "paths": _paths(),
            "components": {"schemas": schemas, "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
        }
    )


def _paths() -> dict[str, Any]:
    view, envelope = _ref("RunView"), _ref("Envelope")
    begun = {**_json(envelope), **_EVENTS}
    begins = {
        **_operation("Begin a run", {"200": ("The envelope, or its stream", begun)}, _RUN, body=_ref("RunRequest")),
        "parameters": [_KEY, _LAST],
    }
    begins["responses"]["202"] = _answer("The run is kept", _json(view))
    shown = {"200": ("The run", _json(view))}
    stream = {"200": ("The events, until the run is over", _EVENTS)}
    cancelled = {"202": ("It is told to end", _json(view))}
    listed = {"200": ("Runs, the newest first", _json(_ref("RunList")))}
    checked = {"200": ("What the contract is", _json(_ref("ContractView")))}
    page = {"text/html": {"schema": {"type": "string"}}}
    text = {"text/plain": {"schema": {"type": "string"}}}
    health = _json(_ref("Health"))
    ready = _operation("Whether runs can be taken", {"200": ("Yes", health)}, ())
    ready["responses"]["503"] = _answer("No", health)
    return {
        "/": {"get": _operation("The page to look at runs", {"200": ("The page", page)}, ())},
        "/openapi.json": {"get": _operation("This document", {"200": ("The document", _json({"type": "object"}))}, ())},
        "/healthz": {"get": _operation("Whether the process answers", {"200": ("Yes", health)}, ())},
        "/readyz": {"get": ready},
        "/metrics": {"get": _operation("Counts for Prometheus", {"200": ("The counts", text)}, ())},
        "/v1/runs": {
            "post": begins,
            "get": {**_operation("List runs", listed, (422,)), "parameters": _QUERY},
        },
        "/v1/runs/{run_id}": {"parameters": [_RUN_ID], "get": _operation("Look at a run", shown, (404,))},
        "/v1/runs/{run_id}/events": {
            "parameters": [_RUN_ID],
            "get": {**_operation("Follow a run", stream, (404, 422)), "parameters": [_LAST]},
        },
        "/v1/runs/{run_id}/cancel": {"parameters": [_RUN_ID], "post": _operation("End a run", cancelled, (404,))},
        "/v1/stories": {
            "get": _operation("The runs, for the page", {"200": ("The list", _json({"type": "object"}))}, ())
        },
        "/v1/stories/{run_id}": {"parameters": [_RUN_ID], "get": _operation("A run, for the page", stream, (404,))},
        "/v1/contracts/check": {
            "post": _operation("Look at a contract", checked, (422, 501), body=_ref("CheckRequest")),
        },
        "/v1/chat/completions": {"post": _vendor("OpenAI's Chat Completions, for objects that passed")},
        "/v1/messages": {"post": _vendor("Anthropic's Messages, for objects that passed", "max_tokens")},
    }


def _vendor(summary: str, *required: str) -> dict[str, Any]:
    answers = {**_json(_VENDOR), **_EVENTS}
    made = _operation(summary, {"200": ("The answer, or its stream", answers)}, _RUN, body=_vendor_request(*required))
    for told, answer in made["responses"].items():
        if told != "200":
            answer["content"] = _json(_VENDOR)
    return {**made, "parameters": [_KEY]}


def _operation(
    summary: str, answers: dict[str, tuple[str, Any]], more: tuple[int, ...], *, body: Any = None
) -> dict[str, Any]:
    made: dict[str, Any] = {"summary": summary, "responses": {}}
    if body is not None:
        made["requestBody"] = {"required": True, "content": _json(body)}
    for status, (words, content) in answers.items():
        made["responses"][status] = _answer(words, content)
    for number in sorted({*_ALWAYS, *more}):
        made["responses"].setdefault(str(number), _answer(_REFUSALS[number], _json(_ref("Envelope"))))
    return made


def _answer(words: str, content: Any) -> dict[str, Any]:
    return {"description": words, "content": content}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}
