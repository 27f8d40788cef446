"""Finding sessions: by id, the latest of a directory, all of them."""

from __future__ import annotations

import os

import pytest

from lastcall.errors import BadConfig, JournalError
from lastcall.journal.sessions import Sessions, default_state_dir, project_slug, summarise


@pytest.fixture
def sessions(tmp_path):
    return Sessions(str(tmp_path / "state"))


@pytest.fixture
def begin(sessions, opened):
    """Write a session; `at` is the time of its last change."""

    def make(session_id, cwd="/w", at=100.0, prompt="do it"):
        journal = sessions.create(cwd, session_id)
        journal.append(opened(cwd, session_id, prompt), at=5.0)
        journal.close()
        os.utime(journal.path, (at, at))
        return journal.path

    return make


def test_folders_are_named_as_the_reference_names_them():
    assert project_slug("/home/u/my.project_1") == "-home-u-my-project-1"
    assert project_slug("/größe") == "-gr--e"


def test_long_folders_stay_apart():
    one, two = project_slug("/" + "a" * 300), project_slug("/" + "a" * 301)
    assert one != two
    assert max(len(one), len(two)) < 255


def test_a_session_is_found_by_its_id(sessions, begin):
    path = begin("s1")
    begin("s2", cwd="/other")
    assert sessions.find("s1").path == path
    assert sessions.find("s1", cwd="/w").session_id == "s1"
    assert sessions.find("s2").path.endswith("/-other/s2.jsonl")
    assert sessions.find("s2", cwd="/w") is None
    assert sessions.find("s3") is None
    assert path == os.path.join(sessions.root, "-w", "s1.jsonl")


def test_the_latest_of_a_directory_is_the_one_written_last(sessions, begin):
    begin("old", at=100)
    begin("new", at=300)
    begin("elsewhere", cwd="/x", at=500)
    assert sessions.latest("/w").session_id == "new"
    assert sessions.latest("/none") is None


def test_a_directory_with_the_same_folder_name_is_another_one(sessions, begin):
    begin("mine", cwd="/a/b", at=100)
    begin("other", cwd="/a-b", at=300)
    assert sessions.latest("/a/b").session_id == "mine"
    assert sessions.latest("/a-b").session_id == "other"


def test_all_sessions_are_listed_the_last_written_first(sessions, begin):
    begin("a", at=100)
    begin("b", cwd="/x", at=300)
    begin("c", at=200)
    assert [file.session_id for file in sessions.of()] == ["b", "c", "a"]
    assert [file.session_id for file in sessions.of("/w")] == ["c", "a"]
    assert Sessions(sessions.root + "-none").of() == ()


def test_other_files_are_no_sessions(sessions, begin):
    path = begin("a")
    folder = os.path.dirname(path)
    for name in ["notes.txt", "x.json"]:
        with open(os.path.join(folder, name), "w") as file:
            file.write("x")
    with open(os.path.join(sessions.root, "stray"), "w") as file:
        file.write("x")
    assert [file.session_id for file in sessions.of()] == ["a"]


def test_a_summary_tells_the_prompt_and_the_model(sessions, begin):
    begin("a", prompt="why?")
    summary = summarise(sessions.find("a"))
    assert (summary.cwd, summary.model, summary.version, summary.prompt) == ("/w", "haiku", "0.1.0", "why?")
    assert summary.unreadable == ""
    assert summary.file.size_bytes == os.path.getsize(summary.file.path)


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "does not say who it is"), (b"{}\n", "holds no step"), (b'{"v":9}\n', "format 9"), (b'{"v":1', "who it is")],
)
def test_a_summary_of_what_cannot_be_read_says_so(sessions, begin, content, why):
    path = begin("a")
    with open(path, "wb") as file:
        file.write(content)
    assert why in summarise(sessions.find("a")).unreadable


def test_a_session_that_vanished_is_told(sessions, begin):
    path = begin("a")
    file = sessions.find("a")
    os.unlink(path)
    assert "No such file" in summarise(file).unreadable
    with pytest.raises(JournalError, match="cannot be removed"):
        sessions.remove(file)


def test_a_removed_session_is_gone(sessions, begin):
    begin("a")
    sessions.remove(sessions.find("a"))
    assert sessions.find("a") is None


def test_an_id_is_taken_once(sessions, begin):
    begin("a")
    with pytest.raises(BadConfig, match="Session ID a is already in use"):
        sessions.create("/w", "a")


def test_a_session_is_gone_on_with(sessions, begin, opened):
    begin("a")
    journal, loaded = sessions.open("/w", "a")
    journal.close()
    assert loaded.records == tuple(opened("/w", "a"))


@pytest.mark.parametrize("session_id", ["", "../x", "a/b", ".hidden", "a.b", "x" * 101, "a\0", "é"])
def test_an_id_that_is_no_file_name_is_refused(sessions, session_id):
    for act in (sessions.find, lambda text: sessions.create("/w", text), lambda text: sessions.find(text, cwd="/w")):
        with pytest.raises(BadConfig, match="no session id"):
            act(session_id)


def test_the_platform_s_state_directory_is_the_default():
    assert os.path.basename(default_state_dir()) == "lastcall"
    assert Sessions().root == os.path.join(default_state_dir(), "sessions")
