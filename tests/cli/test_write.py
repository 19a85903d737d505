"""The library on the command line: output, exit statuses, JSON, provenance from the environment."""

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from slicebase.core.ids import is_ulid
from slicebase.files.body.rows import Provenance, read_rows
from slicebase.files.slice_file import SliceFile
from slicebase.workspace.writer import SIGNS
from tests.cli.conftest import Tt


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLICEBASE_AGENT", "SLICEBASE_SESSION", *(sign.variable for sign in SIGNS)):
        monkeypatch.delenv(name, raising=False)


def new(tt: Tt, *options: str) -> str:
    done = tt("create", "--title", "A title", "--summary", "A summary.", *options)
    assert done.exit == 0, done.err
    return done.out.strip()


def file_of(tmp_path: Path, file_id: str) -> SliceFile:
    return SliceFile.parse((tmp_path / ".slices" / f"{file_id}.slice").read_bytes())


def type_in(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))


def test_create_prints_only_the_id(tt: Tt, tmp_path: Path) -> None:
    done = tt("create", "--title", "T", "--summary", "S.")
    assert done.out == done.out.strip() + "\n"
    assert is_ulid(done.out.strip())
    result = tt("create", "--title", "T", "--summary", "S.", "--json").json
    assert result["schema_version"] == "1"
    assert file_of(tmp_path, result["id"]).digest == result["version"]
    assert result["file"] == f".slices/{result['id']}.slice"


def test_a_body_comes_from_an_option_a_file_or_stdin(tt: Tt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "body.md").write_bytes("Grüße\r\n".encode())
    assert file_of(tmp_path, new(tt, "--body", "Hello")).body == b"Hello\n"
    assert file_of(tmp_path, new(tt, "--body-file", "body.md")).body == "Grüße\r\n".encode()
    for option in ("--body", "--body-file"):
        type_in(monkeypatch, b"typed")
        assert file_of(tmp_path, new(tt, option, "-")).body == b"typed\n"
    type_in(monkeypatch, b"\xff")
    assert tt("create", "--title", "T", "--summary", "S.", "--body", "-", "--json").error["code"] == "not-utf8"


def test_wrong_arguments_are_usage_errors(tt: Tt) -> None:
    tt("init")
    note = new(tt)
    for arguments in (
        ("create", "--title", "T"),
        ("create", "--title", "T", "--summary", "S.", "--body", "x", "--body-file", "y"),
        ("create", "--title", "T", "--summary", "S.", "--copy"),
        ("create", "--title", "T", "--summary", "S.", "--link", "see_also"),
        ("create", "--title", "T", "--summary", "S.", "--contract", "mood=good"),
        ("remember", note),
        ("remember", note, "x", "--confidence", "2"),
        ("recall", note, "--rows", "some"),
        ("recall", note, "--tokens", "0"),
        ("define", note),
        ("define", note, "title"),
    ):
        assert tt(*arguments).exit == 2, arguments


def test_remember_prints_a_reference_that_recall_accepts(tt: Tt) -> None:
    log = new(tt, "--type", "jsonl")
    ref = tt("remember", log, "Use PostgreSQL.").out.strip()
    assert ref.startswith(f"row:{log}/")
    assert "Use PostgreSQL." in tt("recall", ref).out
    newer = tt("remember", log, '{"text": "Use SQLite."}', "--supersedes", ref, "--json").json
    assert newer["refs"][0].startswith(f"row:{log}/")
    recalled = tt("recall", log, "--json").json
    assert [piece["text"] for piece in recalled["pieces"]] == ["A summary.", "Use SQLite."]
    assert (recalled["page"], recalled["pages"], recalled["next"]) == (1, 1, None)
    note = new(tt, "--body", "# A\n\n# B")
    assert tt("remember", note, "here", "--section", "A").out == f"file:{note}\n"


def test_remember_reads_stdin(tt: Tt, monkeypatch: pytest.MonkeyPatch) -> None:
    log = new(tt, "--type", "jsonl")
    type_in(monkeypatch, b'{"text": "one"}\n{"text": "two"}\n')
    assert tt("remember", log, "-").out.count("row:") == 2


def test_a_page_names_the_next_one(tt: Tt) -> None:
    note = new(tt, "--body", "words " * 500)
    first = tt("recall", note, "--tokens", "300", "--json").json
    assert first["next"] == 2
    assert first["tokens"] <= 300
    pages = [
        tt("recall", note, "--tokens", "300", "--page", number, "--json").json
        for number in range(1, first["pages"] + 1)
    ]
    assert "".join(page["pieces"][0]["text"] for page in pages) == ("words " * 500)
    assert tt("recall", note, "--tokens", "300", "--page", "99").exit == 4


def test_a_contract_is_shown_and_nothing_written(tt: Tt) -> None:
    meetings = new(tt)
    note = new(
        tt, "--contract", "purpose=Decisions.", "--contract", "exclude=meeting notes", "--contract", "exclude=gossip"
    )
    tt("connect", note, "routes_to", meetings, "--label", "Meeting notes")
    done = tt("remember", note, "--contract")
    assert "purpose   Decisions." in done.out
    assert f"exclude   meeting notes → {meetings} (A title)" in done.out
    assert "exclude   gossip\n" in done.out
    assert tt("remember", note, "--contract", "--json").json["write"] == "append"


def test_exit_statuses_distinguish_refusals_missing_files_and_conflicts(tt: Tt) -> None:
    note, other = new(tt, "--body", "x", "--contract", "write=error"), new(tt)
    assert tt("remember", note, "y").exit == 3
    assert tt("remember", "01NOPE", "y").exit == 4
    assert tt("define", note, "title=y", "--if-version", "sha256:0").exit == 5
    assert tt("connect", note, "loves it", other).exit == 3
    assert tt("disconnect", note, "see_also", other).exit == 4
    tt("purge", note)
    assert tt("recall", note).exit == 6
    assert tt("recall", "../x", "--json").error["code"] == "bad-id"


def test_define_connect_and_disconnect(tt: Tt, tmp_path: Path) -> None:
    note, other = new(tt), new(tt)
    assert tt("define", note, "meta.author=alice", "title=New").exit == 0
    assert tt("connect", note, "depends_on", other[:20], "--label", "why").exit == 0
    assert tt("connect", note, "depends_on", other, "--json").json["changed"] is False
    assert len(file_of(tmp_path, note).links) == 1
    assert tt("disconnect", note, "depends_on", other, "--dry-run", "--json").json["dry_run"] is True
    assert len(file_of(tmp_path, note).links) == 1
    assert tt("disconnect", note, "depends_on", other).exit == 0
    assert file_of(tmp_path, note).links == ()
    assert file_of(tmp_path, note).title == "New"


def test_refresh_and_its_dry_run(tt: Tt, tmp_path: Path) -> None:
    source = new(tt, "--body", "Long.")
    summary = new(tt, "--body", "Short.", "--link", f"derived_from:{source}")
    tt("remember", source, "Longer.")
    assert tt("refresh", summary, "Newer.", "--dry-run").exit == 0
    assert file_of(tmp_path, summary).body == b"Short.\n"
    assert tt("refresh", summary, "Newer.", "--source-hash", "sha256:0").exit == 5
    assert tt("refresh", summary, "Newer.", "--source-hash", file_of(tmp_path, source).hash).exit == 0
    assert file_of(tmp_path, summary).body == b"Newer.\n"


def test_forget_restore_and_purge_with_dry_runs(tt: Tt, tmp_path: Path) -> None:
    note = new(tt, "--body", "Secret.")
    before = file_of(tmp_path, note)
    for verb in ("forget", "purge", "restore"):
        assert tt(verb, note, "--dry-run").exit == 0
        assert file_of(tmp_path, note) == before
    tt("forget", note, "--reason", "old")
    assert file_of(tmp_path, note).archived
    tt("restore", note)
    assert file_of(tmp_path, note) == before
    tt("purge", note, "--reason", "secret")
    assert file_of(tmp_path, note).purged


def test_a_pointer_from_a_file(tt: Tt, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(b"a,b\n")
    payload = file_of(tmp_path, new(tt, "--from", "data.csv")).payload
    assert payload
    assert (payload.uri, payload.size) == ("../data.csv", 4)
    assert file_of(tmp_path, new(tt, "--from", "data.csv", "--copy")).payload != payload
    assert tt("create", "--title", "T", "--summary", "S.", "--from", "/etc/passwd").exit == 3


def test_routine_prints_markdown(tt: Tt) -> None:
    routine = new(tt, "--type", "routine", "--body", "Run the tests.")
    assert "1. Run the tests." in tt("routine", routine).out
    assert "1. Run the tests." in tt("routine", routine, "--json").json["text"]


# ---- provenance


def provenance(tmp_path: Path, log: str) -> Provenance | None:
    return read_rows(file_of(tmp_path, log).body).rows[-1].provenance


def test_provenance_comes_from_flags_the_environment_and_settings(
    tt: Tt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new(tt, "--type", "jsonl")
    tt("remember", log, "x")
    assert provenance(tmp_path, log) is None
    tt("remember", log, "x", "--source", "inference", "--confidence", "0.5", "--context", "review")
    assert provenance(tmp_path, log) == Provenance(None, None, "inference", 0.5, "review")
    monkeypatch.setenv("SLICEBASE_AGENT", "env-agent")
    monkeypatch.setenv("SLICEBASE_SESSION", "env-session")
    tt("remember", log, "x", "--agent", "flag-agent")
    assert provenance(tmp_path, log) == Provenance("flag-agent", "env-session")
    monkeypatch.delenv("SLICEBASE_AGENT")
    monkeypatch.delenv("SLICEBASE_SESSION")
    (tmp_path / "slicebase.toml").write_text("[provenance]\nenabled = true\nagent = 'set-agent'\n")
    tt("remember", log, "x")
    where = f"in the folder {tmp_path.name}"
    assert provenance(tmp_path, log) == Provenance("set-agent", context=where)
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "a-session")
    tt("remember", log, "x", "--confidence", "0.5")
    captured = provenance(tmp_path, log)
    assert captured
    assert (captured.context or "").startswith("Claude Code for ")
    assert (captured.agent, captured.session, captured.source) == ("claude-code", "a-session", "inference")
    tt("remember", log, "x", "--agent", "flag-agent", "--source", "observation", "--context", "c", "--session", "s")
    assert provenance(tmp_path, log) == Provenance("flag-agent", "s", "observation", None, "c")
    assert tt("validate").exit == 0
    tt("define", log, "meta.a=1")
    assert file_of(tmp_path, log).frontmatter["slice"]["updated_by"]["agent"] == "claude-code"


def test_a_pointer_to_a_uri_is_created_and_a_local_payload_is_measured_again(tt: Tt, tmp_path: Path) -> None:
    digest = "sha256:" + "0" * 64
    made = new(tt, "--kind", "pointer", "--uri", "https://example.org/x", "--hash", digest, "--size", "7")
    payload = tt("info", made, "--json").json["payload"]
    assert payload == {"uri": "https://example.org/x", "hash": digest, "size": 7}
    assert tt("refresh", made).exit == 3
    there = ("--uri", "s3://x/y")
    for wrong in (
        ("--hash", digest),
        ("--size", "1"),
        (*there, "--size", "-1"),
        (*there, "--kind", "context"),
        (*there, "--from", "data"),
    ):
        assert tt("create", "--title", "T", "--summary", "S.", *wrong).exit == 2
    (tmp_path / "data").write_text("x")
    local = new(tt, "--from", str(tmp_path / "data"))
    (tmp_path / "data").write_text("xy")
    assert tt("refresh", local, "--json").json["changed"]
    assert tt("info", local, "--json").json["payload"]["size"] == 2
