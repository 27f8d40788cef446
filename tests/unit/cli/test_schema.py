"""`lastcall schema`: check, strict, explain, sample."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from lastcall.cli.schema import schema
from lastcall.errors import BadConfig, BadSchema, NotASchema, SchemaNotJson

INCIDENT = {
    "type": "object",
    "properties": {
        "ticket": {"type": "string", "pattern": "^INC-[0-9]{4}$"},
        "customers": {"type": "integer", "minimum": 0},
        "when": {"type": "string", "format": "date"},
    },
    "required": ["ticket", "customers"],
    "additionalProperties": False,
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "incident.json").write_text(json.dumps(INCIDENT))

    def call(*words, stdin=None):
        """The command's exit code and stdout; what it raises is raised."""
        runner = CliRunner()
        ran = runner.invoke(schema, list(words), input=stdin, standalone_mode=False, catch_exceptions=False)
        return ran.return_value, ran.output

    return call


def write(tmp_path, name, value):
    (tmp_path / name).write_text(value if isinstance(value, str) else json.dumps(value))
    return name


# -- check


@pytest.mark.parametrize("given", ["incident.json", "@incident.json", json.dumps(INCIDENT)])
def test_a_schema_is_taken_in_every_form(run, given):
    code, out = run("check", given)
    assert code == 0
    assert out.startswith("The schema can be a contract: 2020-12, digest ")


def test_a_schema_is_read_from_stdin(run, monkeypatch):
    code, out = run("check", "-", stdin='{"$schema":"http://json-schema.org/draft-07/schema#","type":"array"}')
    assert code == 0
    assert "draft-07, its root wrapped on the wire" in out


def test_files_are_judged_against_the_schema(run, tmp_path):
    good = write(tmp_path, "good.json", {"ticket": "INC-0001", "customers": 1})
    bad = write(tmp_path, "bad.json", {"ticket": "INC-1", "customers": 1.5})
    broken = write(tmp_path, "broken.json", '{"ticket": ')
    assert run("check", "incident.json", good)[0] == 0
    code, out = run("check", "incident.json", good, bad, broken)
    assert code == 1
    lines = out.splitlines()
    assert lines[1:3] == ["good.json: fits", "bad.json: does not fit"]
    assert lines[3].startswith('  /ticket: must match pattern "^INC-[0-9]{4}$"')
    assert lines[4].startswith("  /customers: must be integer")
    assert lines[5] == "broken.json: does not fit"
    assert "no JSON" in lines[6]


def test_formats_are_asserted_unless_told_otherwise(run, tmp_path):
    name = write(tmp_path, "a.json", {"ticket": "INC-0001", "customers": 1, "when": "yesterday"})
    assert run("check", "incident.json", name)[0] == 1
    assert run("check", "incident.json", name, "--no-format")[0] == 0
    assert run("check", "incident.json", name, "--profile", "compat")[0] == 0


def test_json_tells_the_same(run, tmp_path):
    name = write(tmp_path, "a.json", {"ticket": "INC-0001"})
    code, out = run("check", "incident.json", name, "--json")
    found = json.loads(out)
    assert code == 1
    assert found["dialect"] == "2020-12"
    assert found["wrapped"] is False
    assert len(found["digest"]) == 64
    assert found["instances"] == {"a.json": ["root: must have required property 'customers'"]}


def test_an_object_from_stdin_is_judged(run):
    assert run("check", "incident.json", "-", stdin='{"ticket":"INC-0001","customers":0}')[0] == 0


@pytest.mark.parametrize(
    ("given", "kind", "where"),
    [
        ("none.json", BadConfig, "none.json"),
        ("dir/none.yaml", BadConfig, "dir/none.yaml"),
        ("{nope", SchemaNotJson, "SCHEMA"),
        ("[1]", BadSchema, "SCHEMA"),
        ('{"type":"objec"}', NotASchema, "/type"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(run, given, kind, where):
    with pytest.raises(kind) as caught:
        run("check", given)
    assert caught.value.where == where


def test_a_file_that_is_not_there_or_not_text_is_refused(run, tmp_path):
    with pytest.raises(BadConfig, match="No such file"):
        run("check", "incident.json", "none")
    (tmp_path / "latin.json").write_bytes(b'"\xe9"')
    with pytest.raises(BadConfig, match="not UTF-8"):
        run("check", "incident.json", "latin.json")


def test_the_reference_s_refusals_are_those_of_compat(run):
    given = '{"type":"object","x-mine":1}'
    assert run("check", given)[0] == 0
    with pytest.raises(BadSchema, match='strict mode: unknown keyword: "x-mine"'):
        run("check", given, "--profile", "compat")


# -- strict


def test_the_strict_form_is_json_and_closed(run):
    code, out = run("strict", "incident.json")
    assert code == 0
    assert json.loads(out)["additionalProperties"] is False


def test_where_there_is_no_strict_form_the_reason_is_told(run):
    code, out = run("strict", '{"type":"object","additionalProperties":{"type":"string"}}', "--rules", "reference")
    assert code == 1
    assert out.startswith("lastcall: no strict form by the rules of reference: ")


# -- explain


def test_every_keyword_is_explained(run):
    code, out = run("explain", "incident.json", "--json")
    assert code == 0
    found = {(item["path"], item["keyword"]): item["by"] for item in json.loads(out)}
    assert found["", "type"] == ["check", "strict"]
    assert "strict" not in found["/properties/customers", "minimum"]
    assert found["/properties/when", "format"][0] == "check"
    assert len(found) == 4 + 2 + 2 + 2


def test_the_table_says_it_in_words(run):
    lines = run("explain", "incident.json", "--rules", "grammar")[1].splitlines()
    assert lines[0].split("  ")[0] == "(root)"
    assert any("the check here and the embedded model's grammar" in line for line in lines)
    annotated = run("explain", '{"type":"object","title":"x"}')[1]
    assert "nothing" in annotated


# -- sample


def test_a_sample_fits_its_schema_and_is_always_the_same(run, tmp_path):
    code, out = run("sample", "incident.json")
    assert code == 0
    assert run("sample", "incident.json")[1] == out
    assert run("check", "incident.json", write(tmp_path, "sample.json", out))[0] == 0


def test_a_schema_that_nothing_fits_has_no_sample(run):
    with pytest.raises(BadSchema):
        run("sample", '{"type":"object","required":["a"],"properties":{"a":false}}')
