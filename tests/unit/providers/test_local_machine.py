"""What a machine can carry, read from made-up machines."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from lastcall.errors import MissingExtra, ModelUnavailable
from lastcall.providers import local_machine
from lastcall.providers.local_catalogue import SMALL, STANDARD
from lastcall.providers.local_machine import (
    check_disk,
    check_engine,
    check_memory,
    check_processor,
    free_memory,
    in_units,
    missing_flags,
    threads,
    usable_processors,
)


def machine(root: Path, **files: str) -> Path:
    for name, text in files.items():
        file = root / name.replace("__", "/").replace("cpu_max", "cpu.max").replace("memory_", "memory.")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "ascii")
    return root


@pytest.fixture
def on_x86(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


@pytest.mark.usefixtures("on_x86")
def test_a_processor_without_avx2_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    root = machine(tmp_path, proc__cpuinfo="processor : 0\nflags\t\t: fpu sse2 fma f16c\n")
    assert missing_flags(root) == ("avx2", "bmi2")
    with pytest.raises(ModelUnavailable, match="lacks AVX2, BMI2"):
        check_processor(root)


@pytest.mark.usefixtures("on_x86")
def test_a_processor_that_has_all_of_it_or_does_not_say_is_taken(tmp_path: Path) -> None:
    check_processor(machine(tmp_path / "a", proc__cpuinfo="flags : avx2 fma f16c bmi2\n"))
    check_processor(machine(tmp_path / "b", proc__cpuinfo="nothing\n"))
    check_processor(tmp_path / "c")


def test_other_kinds_of_processors_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    check_processor(machine(tmp_path, proc__cpuinfo="flags : none\n"))


def test_too_little_memory_names_the_small_model_and_never_takes_it(tmp_path: Path) -> None:
    root = machine(tmp_path, proc__meminfo="MemTotal: 9 kB\nMemAvailable: 1000000 kB\n")
    with pytest.raises(ModelUnavailable, match=r"needs 2\.2 GB of memory, and 1\.0 GB are free.*local:small"):
        check_memory(STANDARD, root)
    check_memory(SMALL, root)


def test_the_smallest_model_names_no_smaller_one(tmp_path: Path) -> None:
    root = machine(tmp_path, proc__meminfo="MemAvailable: 1000 kB\n")
    with pytest.raises(ModelUnavailable) as refused:
        check_memory(SMALL, root)
    assert "local:small" not in refused.value.hint


def test_a_containers_limit_counts_and_its_page_cache_gives_way(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        proc__meminfo="MemAvailable: 9000000 kB\n",
        sys__fs__cgroup__memory_max="3000000000\n",
        sys__fs__cgroup__memory_current="2500000000\n",
        sys__fs__cgroup__memory_stat="anon 5\ninactive_file 1000000000\nactive_file 500000000\n",
    )
    assert free_memory(root) == 2_000_000_000
    (root / "sys/fs/cgroup/memory.stat").unlink()
    assert free_memory(root) == 500_000_000
    (root / "sys/fs/cgroup/memory.max").write_text("max\n")
    assert free_memory(root) == 9_216_000_000


def test_memory_that_nobody_tells_of_is_no_reason_to_refuse(tmp_path: Path) -> None:
    assert free_memory(tmp_path) is None
    check_memory(STANDARD, tmp_path)
    assert free_memory(machine(tmp_path, proc__meminfo="MemTotal: 1 kB\n")) is None


def test_a_full_disk_is_refused_before_the_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("usage", (), {"free": 600_000_000})
    monkeypatch.setattr(local_machine.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(ModelUnavailable, match=r"needs 1\.4 GB on the disk.*LASTCALL_MODELS_DIR.*local:small"):
        check_disk(STANDARD, tmp_path)
    check_disk(SMALL, tmp_path)
    check_disk(STANDARD, tmp_path, already=1_000_000_000)


def test_a_containers_share_of_the_processors_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_machine.os, "sched_getaffinity", lambda _: set(range(32)), raising=False)
    assert usable_processors(tmp_path) == 32
    assert threads(tmp_path) == 8
    root = machine(tmp_path, sys__fs__cgroup__cpu_max="150000 100000\n")
    assert threads(root) == 2
    (root / "sys/fs/cgroup/cpu.max").write_text("1000 100000\n")
    assert threads(root) == 1
    (root / "sys/fs/cgroup/cpu.max").write_text("max 100000\n")
    assert usable_processors(root) == 32
    monkeypatch.delattr(local_machine.os, "sched_getaffinity")
    monkeypatch.setattr(local_machine.os, "cpu_count", lambda: None)
    assert usable_processors(root) == 1


def test_without_the_engine_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr(local_machine, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install 'lastcall\[local\]'"):
        check_engine()


def test_sizes_are_told_in_round_figures() -> None:
    assert (in_units(1_117_320_768), in_units(98_362_432)) == ("1.1 GB", "98 MB")
