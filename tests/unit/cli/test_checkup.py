"""What `lastcall doctor` finds, and that it keeps secrets to itself."""

from __future__ import annotations

import os

import msgspec
import pytest

from lastcall.cli import checkup as module
from lastcall.cli.checkup import check_up
from lastcall.cli.doctor import report
from lastcall.errors import MissingExtra, ModelUnavailable

SECRET = "sk-ant-very-secret-0123456789"


@pytest.fixture
def folders(tmp_path):
    return {
        "LASTCALL_STATE_DIR": str(tmp_path / "state"),
        "LASTCALL_CACHE_DIR": str(tmp_path / "cache"),
        "LASTCALL_MODELS_DIR": str(tmp_path / "models"),
    }


def test_no_value_of_a_variable_is_told(folders):
    environment = folders | {
        "ANTHROPIC_API_KEY": SECRET,
        "ANTHROPIC_AUTH_TOKEN": SECRET,
        "ANTHROPIC_BASE_URL": f"https://user:{SECRET}@proxy.example/v1?key={SECRET}",
        "OPENAI_API_KEY": SECRET,
        "HTTPS_PROXY": f"http://user:{SECRET}@proxy:3128",
    }
    found = check_up(environment)
    for told in (report(found), msgspec.json.encode(found).decode()):
        assert SECRET not in told
        assert "ANTHROPIC_API_KEY" in told
    assert found.proxies == ("HTTPS_PROXY",)
    assert "HTTPS_PROXY" in report(found)
    anthropic, openai = found.providers
    assert (anthropic.name, anthropic.configured, anthropic.host) == ("anthropic", True, "proxy.example")
    assert (openai.name, openai.configured, openai.variables) == ("openai", True, ("OPENAI_API_KEY",))


@pytest.mark.parametrize(
    ("variables", "model", "why"),
    [
        ({"ANTHROPIC_API_KEY": SECRET}, "sonnet", "ANTHROPIC_API_KEY is set"),
        ({"ANTHROPIC_API_KEY": SECRET, "ANTHROPIC_MODEL": "haiku"}, "haiku", "ANTHROPIC_MODEL says so"),
        ({"OPENAI_API_KEY": SECRET, "OPENAI_MODEL": "gpt-5"}, "openai:gpt-5", "OPENAI_API_KEY is set"),
        ({"OPENAI_API_KEY": SECRET, "LASTCALL_MODEL": "openai:gpt-5"}, "openai:gpt-5", "LASTCALL_MODEL says so"),
    ],
)
def test_the_default_model_is_told_with_its_reason(folders, variables, model, why):
    found = check_up(folders | variables)
    assert (found.default.model, found.default.why) == (model, why)
    assert found.ok
    assert found.troubles == ()


def test_a_configuration_that_cannot_be_used_is_told_with_the_remedy(folders):
    found = check_up(folders | {"LASTCALL_MODEL": "haiku"})
    assert not found.ok
    assert found.default.model == ""
    assert "ANTHROPIC_API_KEY" in found.troubles[0]
    assert "What has to be mended" in report(found)


def test_folders_are_told_and_none_is_made(folders, tmp_path):
    found = check_up(folders | {"ANTHROPIC_API_KEY": SECRET})
    assert [folder.purpose for folder in found.folders] == ["sessions", "cache", "models"]
    assert all(folder.writable and not folder.exists for folder in found.folders)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_a_trouble_with_its_variable(folders, tmp_path):
    (tmp_path / "state").write_text("a file is in the way")
    found = check_up(folders | {"ANTHROPIC_API_KEY": SECRET})
    assert not found.ok
    assert "LASTCALL_STATE_DIR" in found.troubles[0]
    assert "NOT WRITABLE" in report(found)


def test_without_variables_the_platform_s_folders_are_told():
    found = check_up({"ANTHROPIC_API_KEY": SECRET})
    assert all("lastcall" in folder.path for folder in found.folders)


def test_extras_are_read_from_the_package_s_own_metadata(folders, monkeypatch):
    requirements = [
        "click>=8",
        'there>=1 ; extra == "one"',
        "gone>=1; extra == 'one'",
        'there[data]>=2 ; python_version < "4" and extra == "two"',
        'pytest ; extra == "dev"',
        'lastcall[one] ; extra == "all"',
    ]

    def version(package):
        if package == "gone":
            raise module.metadata.PackageNotFoundError
        return "1"

    monkeypatch.setattr(module.metadata, "requires", lambda _: requirements)
    monkeypatch.setattr(module.metadata, "version", version)
    found = check_up(folders | {"ANTHROPIC_API_KEY": SECRET})
    assert [(extra.name, extra.missing) for extra in found.extras] == [("one", ("gone",)), ("two", ())]
    assert "pip install 'lastcall[one]'" in report(found)


def test_programs_are_found_where_the_path_says(folders, monkeypatch, tmp_path):
    program = tmp_path / "rg"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {program.name: program.path for program in check_up(folders | {"ANTHROPIC_API_KEY": SECRET}).programs}
    assert found == {"rg": str(program), "bwrap": ""}
    assert os.access(found["rg"], os.X_OK)


def test_the_embedded_models_are_told_with_their_size(folders):
    found = check_up(folders | {"ANTHROPIC_API_KEY": SECRET})
    assert {model.name: model.present for model in found.models} == {"standard": False, "small": False}
    assert all(model.size_bytes > 50_000_000 for model in found.models)
    assert "local:small" in report(found)


def test_an_engine_that_cannot_run_here_is_a_trouble_only_where_it_would_answer(folders, monkeypatch):
    def no_engine():
        raise MissingExtra("the engine is not installed.", hint="Run: pip install 'lastcall[local]'")

    monkeypatch.setattr(module, "check_engine", no_engine)
    monkeypatch.setattr(module, "choose_provider", lambda model, environment: None)
    found = check_up(folders)
    assert found.default.model == "local"
    assert "the embedded model answers" in found.default.why
    assert found.engine.version == ""
    assert found.troubles == ("the engine is not installed. Run: pip install 'lastcall[local]'",)
    assert check_up(folders | {"ANTHROPIC_API_KEY": SECRET}).ok


def test_too_little_memory_for_the_default_model_is_a_trouble(folders, monkeypatch):
    def too_little(model):
        raise ModelUnavailable(f"{model.name} needs more memory.")

    monkeypatch.setattr(module, "check_engine", lambda: None)
    monkeypatch.setattr(module, "check_processor", lambda: None)
    monkeypatch.setattr(module, "check_memory", too_little)
    monkeypatch.setattr(module, "choose_provider", lambda model, environment: None)
    assert check_up(folders).troubles == ("standard needs more memory.",)
    monkeypatch.setattr(module, "check_memory", lambda model: None)
    assert check_up(folders).ok
