"""Settings files and `--settings`: hooks and permissions that a caller asks for by name.

Nothing is read unless a flag names it. Of the reference's settings, hooks and permissions mean something here; the other
keys belong to programs that read them.

Must not go in here: what a hook does, what a rule means.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from lastcall.cli.args import Args
from lastcall.contract.json_text import JsonFault, read_json
from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile
from lastcall.wire.hooks import HookRule, read_rules

_SOURCES: Final = {
    "user": ("HOME", ".claude/settings.json"),
    "project": ("CWD", ".claude/settings.json"),
    "local": ("CWD", ".claude/settings.local.json"),
}
_LIMIT: Final = 8 * 1024 * 1024


class Settings(Struct, frozen=True):
    """What settings say, in the order in which they were read: permissions of all of them count."""

    rules: tuple[HookRule, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    mode: str | None = None


def read_settings(args: Args, profile: Profile, *, home: str, cwd: str) -> Settings:
    """What the files named by `--setting-sources`, and then `--settings`, say. Raises `BadConfig`."""
    read = Settings()
    for source in _names(args.text("setting_sources")):
        root, name = _SOURCES[source]
        path = os.path.join(home if root == "HOME" else cwd, name)  # noqa: PTH118
        if os.path.exists(path):  # noqa: PTH110
            read = _joined(read, _settings(_file(path), path, profile))
    given = args.text("settings")
    if given:
        inline = given.lstrip().startswith("{")
        text = given if inline else _file(given)
        read = _joined(read, _settings(text, "--settings" if inline else given, profile))
    return read


def _names(value: str | None) -> list[str]:
    names = [name.strip() for name in (value or "").split(",") if name.strip()]
    for name in names:
        if name not in _SOURCES:
            raise BadConfig(
                f"there is no source of settings {name!r}", hint="Use user, project, local.", where="--setting-sources"
            )
    return names


def _file(path: str) -> str:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read(_LIMIT).decode("utf-8-sig")
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise BadConfig(f"the settings cannot be read: {why}", hint="Check the path.", where=path) from error
    except UnicodeDecodeError as error:
        raise BadConfig(
            f"the settings are not UTF-8 (byte {error.start})", hint="Save them as UTF-8.", where=path
        ) from None


def _settings(text: str, where: str, profile: Profile) -> Settings:
    read = read_json(text, numbers="exact", max_depth=200, max_bytes=_LIMIT)
    if isinstance(read, JsonFault):
        raise BadConfig(f"the settings are no JSON: {read.message}", hint=f"Mend line {read.line}.", where=where)
    if not isinstance(read.value, dict):
        raise BadConfig("the settings are no JSON object", hint="Begin with {.", where=where)
    value: Mapping[str, Any] = read.value
    off = value.get("disableAllHooks") is True
    rules = () if off or "hooks" not in value else read_rules(value["hooks"], where=where, profile=profile)
    permissions = value.get("permissions")
    permissions = permissions if isinstance(permissions, Mapping) else {}
    if permissions.get("ask") and profile is Profile.NATIVE:
        raise BadConfig("permissions.ask means nothing here", hint="Use allow or deny.", where=where)
    mode = permissions.get("defaultMode")
    return Settings(rules, _words(permissions, "allow", where), _words(permissions, "deny", where), _word(mode))


def _words(permissions: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    listed = permissions.get(key, [])
    if not isinstance(listed, list) or not all(isinstance(x, str) for x in listed):
        raise BadConfig(f"permissions.{key} is no list of rules", hint='Write ["Read", ...].', where=where)
    return tuple(str(x) for x in listed)


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _joined(first: Settings, second: Settings) -> Settings:
    return Settings(
        first.rules + second.rules, first.allow + second.allow, first.deny + second.deny, second.mode or first.mode
    )
