"""Schemas written in YAML: the same values as JSON, so that a schema may have comments.

Only what JSON can hold is taken: no tags, no dates guessed from strings, no anchors that expand without end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastcall.contract.parse import schema_from_value
from lastcall.errors import BadSchema, MissingExtra

if TYPE_CHECKING:
    from lastcall.nouns.profile import Profile
    from lastcall.nouns.schema import OutputSchema


def read_yaml(text: str, where: str, profile: Profile) -> OutputSchema:
    """The schema in a YAML text. Raises `BadSchema`, and `MissingExtra` where PyYAML is not installed."""
    try:
        import yaml  # noqa: PLC0415 -- optional
    except ImportError:
        raise MissingExtra(
            "a schema in YAML needs PyYAML", hint="Run: pip install 'lastcall[yaml]'", where=where
        ) from None
    try:
        value: Any = yaml.load(text, Loader=_json_loader(yaml))  # noqa: S506 -- a safe loader, made narrower
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""
        problem = getattr(error, "problem", None) or "it cannot be read"
        raise BadSchema(f"the schema is not YAML: {problem}{place}.", where=where) from None
    return schema_from_value(value, profile=profile, where=where)


def _json_loader(yaml: Any) -> Any:
    """The safe loader without what JSON lacks: no timestamps, and no aliases, which can expand without end."""

    class JsonLoader(yaml.SafeLoader):  # type: ignore[misc]
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.events.AliasEvent):
                raise yaml.composer.ComposerError(None, None, "anchors are not taken", self.peek_event().start_mark)
            return super().compose_node(parent, index)

    JsonLoader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return JsonLoader
