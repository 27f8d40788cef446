"""Settings are read only where a flag names them, and what they say is never guessed."""

import json

import pytest

from lastcall.cli.args import parse
from lastcall.cli.settings import Settings, read_settings
from lastcall.errors import BadConfig
from lastcall.nouns.hooks import HookPoint
from lastcall.nouns.profile import Profile
from lastcall.wire.hooks import CommandHook, HookRule


def hooks(command):
    return {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}


def stop(command):
    return HookRule(HookPoint.STOP, "", (CommandHook(command),))


@pytest.fixture
def places(tmp_path):
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    for folder, name, command in (
        (home, "settings.json", "user"),
        (cwd, "settings.json", "project"),
        (cwd, "settings.local.json", "local"),
    ):
        (folder / ".claude").mkdir(parents=True, exist_ok=True)
        (folder / ".claude" / name).write_text(json.dumps(hooks(command)))
    return home, cwd


def read(places, *argv, profile=Profile.NATIVE):
    home, cwd = places
    return read_settings(parse(list(argv)), profile, home=str(home), cwd=str(cwd))


def test_without_a_flag_nothing_is_read(places):
    for profile in Profile:
        assert read(places, profile=profile) == Settings()
    assert read(places, "--setting-sources=") == Settings()


def test_sources_are_read_in_the_order_named_and_the_flags_own_come_last(places):
    read_all = read(places, "--setting-sources", "local,user,project", "--settings", json.dumps(hooks("flag")))
    assert read_all.rules == (stop("local"), stop("user"), stop("project"), stop("flag"))


def test_a_source_that_is_not_there_says_nothing(tmp_path):
    assert read((tmp_path, tmp_path), "--setting-sources", "user,project,local") == Settings()


def test_a_file_may_be_named(places, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text("\ufeff" + json.dumps(hooks("file")), encoding="utf-8")
    assert read(places, "--settings", str(path)).rules == (stop("file"),)


def test_hooks_can_be_switched_off_as_a_whole(places):
    assert read(places, "--settings", json.dumps({**hooks("x"), "disableAllHooks": True})) == Settings()


def test_permissions_of_all_settings_count_and_the_last_mode(places, tmp_path):
    path = places[1] / ".claude" / "settings.json"
    path.write_text(json.dumps({"permissions": {"allow": ["Read"], "deny": ["Bash(rm:*)"], "defaultMode": "plan"}}))
    mine = {"permissions": {"allow": ["Bash(ls)"], "defaultMode": "acceptEdits"}}
    found = read(places, "--setting-sources", "project", "--settings", json.dumps(mine))
    assert found == Settings((), ("Read", "Bash(ls)"), ("Bash(rm:*)",), "acceptEdits")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("{", "no JSON"),
        ('{"hooks":[]}', "no object"),
        ('{"permissions":{"allow":"Read"}}', "no list of rules"),
        ('{"permissions":{"deny":[7]}}', "no list of rules"),
        ('{"permissions":{"ask":["Bash"]}}', "permissions.ask"),
    ],
)
def test_what_cannot_be_meant_is_refused(places, value, words):
    with pytest.raises(BadConfig, match=words) as refused:
        read(places, "--settings", value)
    assert refused.value.where.startswith("--settings")


def test_files_that_cannot_be_read_are_named(places, tmp_path):
    gone = tmp_path / "gone.json"
    with pytest.raises(BadConfig, match="cannot be read") as refused:
        read(places, "--settings", str(gone))
    assert refused.value.where == str(gone)
    (tmp_path / "latin.json").write_bytes(b"{\xff}")
    with pytest.raises(BadConfig, match="not UTF-8"):
        read(places, "--settings", str(tmp_path / "latin.json"))
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(BadConfig, match="no JSON object"):
        read(places, "--settings", str(tmp_path / "list.json"))
    with pytest.raises(BadConfig, match="no source of settings 'everything'"):
        read(places, "--setting-sources", "everything")
