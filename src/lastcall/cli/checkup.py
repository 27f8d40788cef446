"""The facts behind `lastcall doctor`, as values.

Nothing is sent, downloaded, made or changed, and no value of a variable is kept that could be a secret.

Must not go in here: showing them (`cli.doctor`).
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from lastcall.errors import LastcallError
from lastcall.providers.choose import choose_provider, default_model
from lastcall.providers.local_cache import FOLDER_VARIABLE, Shelf, models_folder
from lastcall.providers.local_catalogue import MODELS, find_model
from lastcall.providers.local_machine import check_engine, check_memory, check_processor
from lastcall.runtime.places import CACHE_VARIABLE, STATE_VARIABLE, cache_dir, state_dir
from lastcall.version import VERSION

_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"),
}
_ACCESS: Final = ("_API_KEY", "_AUTH_TOKEN", "_BASE_URL")
_PROGRAMS: Final = (("rg", "fast search in files"), ("bwrap", "a sandbox around commands"))
_ENGINE: Final = "xllamacpp"
_NO_EXTRAS: Final = frozenset({"all", "dev"})
_REQUIREMENT: Final = re.compile(r"""([A-Za-z0-9._-]+).*\bextra\s*==\s*['"]([\w-]+)['"]""")


class ProviderFacts(Struct, frozen=True):
    """One model service: whether it could be asked, by which variables, at which host if not its own."""

    name: str
    configured: bool
    variables: tuple[str, ...]
    host: str = ""


class DefaultFacts(Struct, frozen=True):
    """The model that answers when none is named (`""`: none would), and why it is this one."""

    model: str
    why: str


class EngineFacts(Struct, frozen=True):
    """The embedded engine: its version (`""`: not installed or not usable here), and what to do then."""

    version: str
    remedy: str = ""


class ModelFacts(Struct, frozen=True):
    """One embedded model: whether it is on this machine, and its size in bytes."""

    name: str
    present: bool
    size_bytes: int


class FolderFacts(Struct, frozen=True):
    """A folder that lastcall writes to."""

    purpose: str
    path: str
    exists: bool
    writable: bool


class ExtraFacts(Struct, frozen=True):
    """An optional part, and the packages of it that are not installed."""

    name: str
    missing: tuple[str, ...]


class ProgramFacts(Struct, frozen=True):
    """A program that is used where it is there (`path` `""`: it is not)."""

    name: str
    use: str
    path: str


class Checkup(Struct, frozen=True):
    """Everything that `lastcall doctor` tells. `troubles` are what keeps a run from beginning."""

    version: str
    python: str
    platform: str
    default: DefaultFacts
    providers: tuple[ProviderFacts, ...]
    engine: EngineFacts
    models: tuple[ModelFacts, ...]
    folders: tuple[FolderFacts, ...]
    extras: tuple[ExtraFacts, ...]
    programs: tuple[ProgramFacts, ...]
    proxies: tuple[str, ...]
    troubles: tuple[str, ...]
    ok: bool


def check_up(environment: Mapping[str, str]) -> Checkup:
    """Look at this machine, as the runs of this environment would see it. Raises nothing that it finds."""
    folders = _folders(environment)
    engine = _engine()
    default, trouble = _default(environment)
    troubles = [words for words in (trouble, _local_trouble(default, engine)) if words]
    troubles += [
        f"The folder of {folder.purpose} cannot be written: {folder.path}. Set {_FOLDER_VARIABLES[folder.purpose]}."
        for folder in folders
        if not folder.writable
    ]
    return Checkup(
        version=VERSION,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}, {os.cpu_count() or 1} processors",
        default=default,
        providers=tuple(_provider(name, environment) for name in _VARIABLES),
        engine=engine,
        models=_models(_models_folder(environment)),
        folders=folders,
        extras=_extras(),
        programs=tuple(ProgramFacts(name, use, shutil.which(name) or "") for name, use in _PROGRAMS),
        proxies=tuple(sorted(name for name in environment if name.upper().endswith("_PROXY") and environment[name])),
        troubles=tuple(troubles),
        ok=not troubles,
    )


# -- models ---------------------------------------------------------------------------------------------------------


def _provider(name: str, environment: Mapping[str, str]) -> ProviderFacts:
    given = tuple(variable for variable in _VARIABLES[name] if environment.get(variable))
    host = urlsplit(environment.get(f"{name.upper()}_BASE_URL", "")).hostname or ""
    return ProviderFacts(name, any(variable.endswith(_ACCESS) for variable in given), given, host)


def _default(environment: Mapping[str, str]) -> tuple[DefaultFacts, str]:
    """The default model, and what is wrong with it."""
    try:
        model = environment.get("LASTCALL_MODEL") or default_model(environment)
        choose_provider(model, environment)
    except LastcallError as error:
        return DefaultFacts("", "none can be used"), str(error)
    return DefaultFacts(model, _why(model, environment)), ""


def _why(model: str, environment: Mapping[str, str]) -> str:
    for variable in ("LASTCALL_MODEL", "ANTHROPIC_MODEL"):
        if environment.get(variable):
            return f"{variable} says so"
    if model.startswith("local"):
        return "no model service is configured, so the embedded model answers"
    for variables in _VARIABLES.values():
        for variable in variables:
            if environment.get(variable) and variable.endswith(_ACCESS):
                return f"{variable} is set"
    return "it is the default"


def _engine() -> EngineFacts:
    try:
        check_engine()
        check_processor()
    except LastcallError as error:
        return EngineFacts("", str(error))
    return EngineFacts(metadata.version(_ENGINE) if _installed(_ENGINE) else "of unknown version")


def _models(folder: Path) -> tuple[ModelFacts, ...]:
    return tuple(ModelFacts(model.name, Shelf(folder, model).is_marked(), model.download_size) for model in MODELS)


def _local_trouble(default: DefaultFacts, engine: EngineFacts) -> str:
    """What keeps the embedded model from answering, where it is the default."""
    if not default.model.startswith("local"):
        return ""
    if not engine.version:
        return engine.remedy
    try:
        check_memory(find_model(default.model))
    except LastcallError as error:
        return str(error)
    return ""


# -- this machine ---------------------------------------------------------------------------------------------------

_FOLDER_VARIABLES: Final[Mapping[str, str]] = {
    "sessions": STATE_VARIABLE,
    "cache": CACHE_VARIABLE,
    "models": FOLDER_VARIABLE,
}


def _folders(environment: Mapping[str, str]) -> tuple[FolderFacts, ...]:
    places = (
        ("sessions", state_dir(environment)),
        ("cache", cache_dir(environment)),
        ("models", str(_models_folder(environment))),
    )
    return tuple(_folder(purpose, path) for purpose, path in places)


def _models_folder(environment: Mapping[str, str]) -> Path:
    return models_folder(environment.get(FOLDER_VARIABLE))


def _folder(purpose: str, path: str) -> FolderFacts:
    nearest = os.path.abspath(path)  # noqa: PTH100
    while not os.path.lexists(nearest):
        nearest = os.path.dirname(nearest)  # noqa: PTH120
    return FolderFacts(purpose, path, os.path.isdir(path), _takes_folders(nearest))  # noqa: PTH112


def _takes_folders(path: str) -> bool:
    """Whether a folder can be made there: tried, since permissions do not tell of every file system. Nothing is left."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".lastcall-", dir=path))  # noqa: PTH106
    except OSError:
        return False
    return True


def _extras() -> tuple[ExtraFacts, ...]:
    """The optional parts, read from the installed package's own metadata; none where it is not installed as a package."""
    try:
        requirements = metadata.requires("lastcall") or []
    except metadata.PackageNotFoundError:
        return ()
    missing: dict[str, list[str]] = {}
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        if match is None or match.group(2) in _NO_EXTRAS:
            continue
        package, extra = match.groups()
        missing.setdefault(extra, [])
        if not _installed(package):
            missing[extra].append(package)
    return tuple(ExtraFacts(name, tuple(packages)) for name, packages in missing.items())


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
