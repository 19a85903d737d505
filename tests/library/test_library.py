"""The library's verbs on real files: create, define, connect, refresh, forget, purge, pointers."""

import os
from pathlib import Path

import pytest

from slicebase.context.manifest import Budget, Manifest, PinnedPiece, left_out
from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.files.model import DerivationSource, Link, Payload
from slicebase.library.check import validate
from slicebase.library.payloads import unclaimed_copies
from slicebase.runs.records import Span
from slicebase.truth.texts import hash_bytes
from slicebase.truth.truth import Truth
from slicebase.workspace.atomic import locked
from tests.codes import code_of
from tests.library.scratch import ScratchLibrary


@pytest.fixture
def scratch(tmp_path: Path) -> ScratchLibrary:
    return ScratchLibrary(tmp_path)


def is_well_formed(scratch: ScratchLibrary) -> bool:
    return not validate([scratch.folder.path], scratch.workspace.root).counts["error"]


# ---- create


def test_an_error_in_a_body_names_its_line_in_the_file_and_in_the_body(scratch: ScratchLibrary) -> None:
    with pytest.raises(SlicebaseError) as caught:
        scratch.create("T", "S.", type="yaml", body="a: 1\nb: [\n")
    good = scratch.create("T", "S.", type="yaml", body="a: 1\nb: 2\n").file
    assert (caught.value.where.line, caught.value.where.column) == (good.body_line + 1, 4)
    assert "line 2 of the body" in caught.value.message


@pytest.mark.parametrize("body_type", ["markdown", "jsonl", "text", "code", "yaml", "routine", "conversation"])
def test_a_new_file_of_every_type_is_well_formed_and_named_by_its_id(scratch: ScratchLibrary, body_type: str) -> None:
    change = scratch.create("A title: with colon", "Summary.", type=body_type)
    stamp = scratch.last
    assert change.file.name == f".slices/{stamp.file_id}.slice"
    file = scratch.file(stamp.file_id)
    assert (file.id, file.title, file.kind, file.body_type, file.body) == (
        stamp.file_id, "A title: with colon", "context", body_type, b"",
    )  # fmt: skip
    assert is_well_formed(scratch)


def test_the_body_contract_and_links_of_a_new_file_are_as_they_were_given(scratch: ScratchLibrary) -> None:
    other = scratch.new()
    (scratch.folder.root / "docs").mkdir()
    contract = ["write=replace", "exclude=a, b", "exclude=c", "purpose=P: q"]
    links = [("depends_on", other[:20]), ("routes_to", "../docs/")]
    change = scratch.create("T", "S.", body="# Hi", contract=contract, links=links)
    file = scratch.file(change.id)
    assert file.body == b"# Hi\n"
    assert file.contract.exclude == ("a, b", "c")
    assert (file.contract.write, file.contract.purpose) == ("replace", "P: q")
    assert file.links == (Link("depends_on", other), Link("routes_to", "../docs/"))
    assert is_well_formed(scratch)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"title": " "}, "breaks-rule"),
        ({"summary": ""}, "breaks-rule"),
        ({"type": "poem"}, "breaks-rule"),
        ({"kind": "thing"}, "breaks-rule"),
        ({"kind": "pointer"}, "breaks-rule"),
        ({"kind": "pointer", "type": "markdown"}, "breaks-rule"),
        ({"type": "none"}, "breaks-rule"),
        ({"type": "yaml", "body": "a: [1"}, "breaks-rule"),
        ({"contract": ["write=sometimes"]}, "breaks-rule"),
        ({"contract": ["write=append", "contract.write=append"]}, "usage"),
        ({"meta": ["a=1", "meta.a=2"]}, "usage"),
        ({"meta": ["a.b=1", "a=2"]}, "usage"),
        ({"id": ""}, "bad-id"),
        ({"contract": ["mood=good"]}, "usage"),
        ({"contract": ["purpose"]}, "usage"),
        ({"links": [("loves it", "01X")]}, "bad-link"),
        ({"links": [("01X", "see_also")]}, "bad-link"),
        ({"links": [("see_also", "01X")]}, "no-file"),
        ({"links": [("see_also", "https://example.org/")]}, "bad-link"),
        ({"links": [("see_also", "../../etc/passwd")]}, "outside-workspace"),
        ({"links": [("see_also", "/etc/passwd")]}, "outside-workspace"),
    ],
)
def test_a_new_file_that_would_break_a_rule_is_not_created(
    scratch: ScratchLibrary, arguments: dict[str, object], code: str
) -> None:
    given = {"title": "T", "summary": "S.", **arguments}
    assert code_of(scratch.create, **given) == code
    assert list(scratch.folder.path.iterdir()) == []


def test_a_derived_file_records_its_sources_hash(scratch: ScratchLibrary) -> None:
    """§ Derived Files."""
    source = scratch.new("markdown", "Long text.")
    summary = scratch.new("markdown", "Short.", links=(("derived_from", source),))
    assert scratch.file(summary).derived_from == DerivationSource(source, digest(b"Long text.\n"))
    assert scratch.file(summary).links == ()
    assert code_of(lambda: scratch.new(links=(("derived_from", source), ("derived_from", summary)))) == "bad-link"


@pytest.mark.parametrize(
    "stream", ["---\nheron: grey\n", "heron: &x !mine 1\nb: *x\n---\nc\n", "--- # two\n? [heron]\n: b\n...\n"]
)
def test_a_yaml_body_is_any_stream_and_stays_as_it_is(scratch: ScratchLibrary, stream: str) -> None:
    """Ruling 22 is about the frontmatter."""
    note, other = scratch.new("yaml", stream), scratch.new("yaml", "a: 1")
    scratch.remember(other, stream)
    assert scratch.body(note) == scratch.body(other) == stream
    assert is_well_formed(scratch)
    assert stream.strip("\n") in scratch.recall(note).text
    assert {hit.entry.id for hit in scratch.search("heron").hits} == {note, other}
    assert code_of(scratch.remember, note, stream + "---\nb: [\n") == "breaks-rule"
    assert scratch.body(note) == stream


# ---- pointers


def test_a_pointer_to_a_file_of_the_workspace_has_its_hash_and_size(scratch: ScratchLibrary, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    data = os.urandom(3_000_000)
    (tmp_path / "data" / "dump.json.gz").write_bytes(data)
    change = scratch.create("Dump", "Raw data.", from_file=tmp_path / "data" / "dump.json.gz")
    payload = scratch.file(change.id).payload
    assert payload
    assert (payload.uri, payload.hash, payload.size) == ("../data/dump.json.gz", digest(data), len(data))
    assert is_well_formed(scratch)


def test_a_file_outside_the_workspace_is_refused_unless_it_is_copied(scratch: ScratchLibrary, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name} outside.tar.gz"
    outside.write_bytes(b"payload")
    inside = tmp_path / "link.tar.gz"
    inside.symlink_to(outside)
    for path in (outside, inside, tmp_path / "sub" / ".." / inside.name):
        (tmp_path / "sub").mkdir(exist_ok=True)
        assert code_of(scratch.create, "T", "S.", from_file=path) == "outside-workspace"
    change = scratch.create("T", "S.", from_file=outside, copy=True)
    payload = scratch.file(change.id).payload
    assert payload
    assert payload.uri == f"./payloads/{change.id}.tar.gz"
    assert (scratch.folder.path / "payloads" / f"{change.id}.tar.gz").read_bytes() == b"payload"
    assert is_well_formed(scratch)


def test_a_pointer_needs_a_regular_file_and_a_refused_pointer_leaves_no_copy(
    scratch: ScratchLibrary, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert code_of(lambda: scratch.create("T", "S.", from_file=tmp_path / "absent")) == "no-input"
    assert code_of(lambda: scratch.create("T", "S.", from_file=tmp_path)) == "not-a-file"
    assert code_of(lambda: scratch.create("T", "S.", from_file=tmp_path / "pipe")) == "not-a-file"
    (tmp_path / "data").write_bytes(b"x")
    assert code_of(lambda: scratch.create("", "S.", from_file=tmp_path / "data", copy=True)) == "breaks-rule"
    assert list((scratch.folder.path / "payloads").iterdir()) == []


DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize("uri", ["https://example.org/dump.gz", "s3://bucket/key", "urn:isbn:0451450523", "./dump.gz"])
def test_a_pointer_to_a_uri_has_the_hash_and_size_that_were_given(scratch: ScratchLibrary, uri: str) -> None:
    """§ Pointer, ruling 29: nothing is fetched."""
    pointer = scratch.create("T", "S.", payload=Payload(uri, DIGEST, 0)).file
    assert (pointer.kind, pointer.body_type, pointer.payload) == ("pointer", "none", Payload(uri, DIGEST, 0))
    assert is_well_formed(scratch)
    assert pointer.hash == DIGEST


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (Payload("file:///etc/passwd", DIGEST, 1), "breaks-rule"),
        (Payload("JavaScript:alert(1)", DIGEST, 1), "breaks-rule"),
        (Payload("data:text/plain,x", DIGEST, 1), "breaks-rule"),
        (Payload("https://example.org/a b", DIGEST, 1), "breaks-rule"),
        (Payload("https://example.org/\x1b[2J", DIGEST, 1), "breaks-rule"),
        (Payload("https://example.org/" + "x" * 3000, DIGEST, 1), "breaks-rule"),
        (Payload("", DIGEST, 1), "breaks-rule"),
        (Payload("https://example.org/a", "md5:1", 1), "breaks-rule"),
        (Payload("https://example.org/a", DIGEST.upper(), 1), "breaks-rule"),
        (Payload("https://example.org/a", DIGEST, -1), "breaks-rule"),
        (Payload("../../elsewhere", DIGEST, 1), "outside-workspace"),
        (Payload("/etc/passwd", DIGEST, 1), "outside-workspace"),
    ],
)
def test_a_payload_that_is_no_payload_is_refused(scratch: ScratchLibrary, payload: Payload, code: str) -> None:
    assert code_of(scratch.create, "T", "S.", payload=payload) == code
    assert list(scratch.folder.path.iterdir()) == []


@pytest.mark.parametrize("copy", [False, True])
def test_refresh_measures_a_local_payload_again_and_what_is_derived_from_it_is_stale(
    scratch: ScratchLibrary, tmp_path: Path, copy: bool
) -> None:
    (tmp_path / "data").write_bytes(b"one")
    pointer = scratch.create("T", "S.", from_file=tmp_path / "data", copy=copy)
    assert pointer.file.payload
    uri = pointer.file.payload.uri
    summary = scratch.new("markdown", "Short.", links=(("derived_from", pointer.id),))
    assert not scratch.refresh(pointer.id).changed
    (scratch.folder.path / (uri or "")).write_bytes(b"three")
    assert scratch.refresh(pointer.id, dry_run=True).changed
    assert scratch.refresh(pointer.id).file.payload == Payload(uri, digest(b"three"), 5)
    assert scratch.file(pointer.id).updated_at == scratch.last.time
    assert [each.entry.id for each in scratch.stale()] == [summary]
    assert is_well_formed(scratch)


def test_a_payload_that_is_not_here_is_not_measured(scratch: ScratchLibrary, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x")
    local = scratch.create("T", "S.", from_file=tmp_path / "data").id
    remote = scratch.create("T", "S.", payload=Payload("https://example.org/x")).id
    fixed = scratch.create("T", "S.", from_file=tmp_path / "data", contract=["write=error"]).id
    (tmp_path / "data").unlink()
    os.mkfifo(tmp_path / "data")
    assert code_of(scratch.refresh, local) == "not-a-file"
    (tmp_path / "data").unlink()
    assert code_of(scratch.refresh, local) == "no-input"
    (tmp_path / "data").symlink_to("/etc/passwd")
    assert code_of(scratch.refresh, local) == "outside-workspace"
    assert code_of(scratch.refresh, remote) == "write-mode"
    assert code_of(scratch.refresh, fixed) == "write-mode"
    assert code_of(scratch.refresh, scratch.new()) == "nothing-given"
    scratch.forget(remote)
    assert code_of(scratch.refresh, remote) == "archived"


def test_a_pointer_has_no_body_to_write(scratch: ScratchLibrary, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x")
    pointer = scratch.create("T", "S.", from_file=tmp_path / "data").id
    assert code_of(lambda: scratch.remember(pointer, "x")) == "write-mode"


# ---- define


def test_keys_are_set_by_dotted_name_and_everything_else_stays(scratch: ScratchLibrary) -> None:
    """Ruling 20."""
    note = scratch.new("markdown", "Body.\n")
    path = scratch.path(note)
    path.write_bytes(path.read_bytes().replace(b"  title: Title\n", b"  title: 'Title' # mine\n  extra: [1, 2]\n"))
    scratch.define(note, ["meta.author=alice", "meta.n=3", "meta.tags=[a, 'b c']", "slice.contract.write=replace"])
    file = scratch.file(note)
    assert file.meta == {"author": "alice", "n": 3, "tags": ["a", "b c"]}
    assert file.write_mode == "replace"
    assert b"  title: 'Title' # mine\n  extra: [1, 2]\n" in file.head
    assert file.body == b"Body.\n"


def test_a_key_that_takes_text_takes_it_as_it_is_written(scratch: ScratchLibrary) -> None:
    """Ruling 21."""
    note = scratch.new()
    scratch.define(note, ["title=007", "summary=no", "contract.purpose=[x", "meta.v=1.10"])
    file = scratch.file(note)
    assert (file.title, file.summary, file.contract.purpose) == ("007", "no", "[x")
    assert file.meta["v"] == "1.10"


def test_an_empty_value_removes_a_key(scratch: ScratchLibrary) -> None:
    note = scratch.new()
    scratch.define(note, ["meta.a=1", "meta.b=2"])
    scratch.define(note, ["meta.a=", "meta.absent="])
    assert scratch.file(note).meta == {"b": 2}


@pytest.mark.parametrize(
    ("assignment", "code"),
    [
        ("id=other", "managed-key"),
        ("archived.at=now", "managed-key"),
        ("updated_at=2026-01-01T00:00:00.000Z", "managed-key"),
        ("title=", "breaks-rule"),
        ("v=2", "breaks-rule"),
        ("kind=pointer", "breaks-rule"),
        ("body.type=jsonl", "breaks-rule"),
        ("contract.write=sometimes", "breaks-rule"),
        ("derived_from.hash=abc", "breaks-rule"),
        ("meta=3", "breaks-rule"),
        ("meta.x=[1", "yaml-syntax"),
        ("meta.x={a: &b c}", "yaml-anchor"),
        ("title", "usage"),
        ("a..b=1", "usage"),
        ("=1", "usage"),
    ],
)
def test_what_would_break_a_rule_is_checked_before_it_is_written(
    scratch: ScratchLibrary, assignment: str, code: str
) -> None:
    note = scratch.new("markdown", "Body.\n")
    before = scratch.path(note).read_bytes()
    assert code_of(lambda: scratch.define(note, ["meta.ok=1", assignment])) == code
    assert scratch.path(note).read_bytes() == before


def test_an_error_that_was_there_before_does_not_stop_others_from_being_fixed(scratch: ScratchLibrary) -> None:
    note = scratch.new()
    path = scratch.path(note)
    path.write_bytes(path.read_bytes().replace(b"  summary: Summary.\n", b"").replace(b'v: "1"', b'v: "9"'))
    scratch.define(note, ["summary=There it is."])
    scratch.define(note, ["v=1"])
    assert is_well_formed(scratch)


def test_metadata_does_not_make_a_file_younger(scratch: ScratchLibrary) -> None:
    """Ruling 26: the time of the last change belongs to the body."""
    note = scratch.new()
    scratch.define(note, ["title=New"])
    assert scratch.file(note).updated_at is None


# ---- connect and disconnect


def test_a_link_is_stored_with_the_complete_id_and_only_once(scratch: ScratchLibrary) -> None:
    one, two = scratch.new(), scratch.new()
    assert scratch.connect(one, "depends_on", two[:-3], label="why").changed
    assert not scratch.connect(one, "depends_on", f"./{two}.slice").changed
    assert not scratch.connect(one, "depends_on", f"file:{two}").changed
    assert scratch.file(one).links == (Link("depends_on", two, "why"),)


def test_links_lead_to_rows_and_paths_that_are_there(scratch: ScratchLibrary, tmp_path: Path) -> None:
    note, log = scratch.new(), scratch.new("jsonl", '{"text": "x"}')
    row = scratch.rows(log)[0].id
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "api.md").write_text("x")
    scratch.connect(note, "see_also", f"row:{log}/{row}")
    scratch.connect(note, "see_also", "../docs/api.md")
    scratch.connect(note, "routes_to", "../docs/")
    assert is_well_formed(scratch)
    for rel, to, code in (
        ("see_also", f"row:{log}/01NO", "no-row"),
        ("see_also", "turn:05ce3f25-3b45-539e-8730-509ea3dc8613", "no-turn"),
        ("see_also", "../docs/none.md", "no-file"),
        ("see_also", "../docs/", "bad-link"),
        ("see_also", note, "bad-link"),
        ("loves it", log, "bad-link"),
        (log, "see_also", "bad-link"),
    ):
        assert code_of(scratch.connect, note, rel, to) == code


def test_an_unknown_relationship_is_stored_with_a_warning_that_names_the_nearest(scratch: ScratchLibrary) -> None:
    """Ruling 53."""
    note, log = scratch.new(), scratch.new()
    change = scratch.connect(note, "depend_on", log)
    assert "depends_on" in change.warnings[0]
    assert scratch.file(note).links == (Link("depend_on", log),)
    report = validate([scratch.folder.path], scratch.workspace.root)
    assert ([each.rule for each in report.findings], report.counts["warning"]) == (["link-rel"], 1)
    assert len(scratch.create("T", "S.", links=[("inspires", log)]).warnings) == 1
    assert scratch.connect(note, "see_also", log).warnings == ()
    assert [edge.rel for edge in scratch.explore(note, infer=True).links] == ["depend_on", "see_also"]
    assert scratch.explore(log, rel="depend_on", infer=True).links == []


def test_connect_derived_from_records_the_hash_of_the_source(scratch: ScratchLibrary) -> None:
    """§ Derived Files, ruling 24: as `create` does."""
    source, other, summary = scratch.new("markdown", "Long."), scratch.new(), scratch.new("markdown", "Short.")
    scratch.connect(summary, "derived_from", source)
    recorded = DerivationSource(source, digest(b"Long.\n"))
    assert (scratch.file(summary).derived_from, scratch.file(summary).links) == (recorded, ())
    scratch.remember(source, "Longer.")
    assert not scratch.connect(summary, "derived_from", source).changed, "only refresh knows that the text is new"
    assert [each.entry.id for each in scratch.stale()] == [summary]
    assert code_of(scratch.connect, summary, "derived_from", other) == "bad-link"
    assert scratch.connect(summary, "derived_from", source, label="by hand").file.links[0].label == "by hand"
    scratch.disconnect(summary, "derived_from", source)
    assert (scratch.file(summary).derived_from, scratch.file(summary).links) == (None, ())
    assert code_of(scratch.disconnect, summary, "derived_from", source) == "no-link"
    assert is_well_formed(scratch)


def test_a_path_that_leads_outside_through_a_symbolic_link_is_refused(scratch: ScratchLibrary, tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path.parent)
    assert code_of(lambda: scratch.connect(scratch.new(), "routes_to", "../out/")) == "outside-workspace"


def test_a_link_is_removed_even_if_its_target_is_gone(scratch: ScratchLibrary) -> None:
    one, two, three = scratch.new(), scratch.new(), scratch.new()
    scratch.connect(one, "see_also", two)
    scratch.connect(one, "see_also", three)
    scratch.path(two).unlink()
    assert scratch.disconnect(one, "see_also", two, dry_run=True).changed
    assert len(scratch.file(one).links) == 2
    scratch.disconnect(one, "see_also", two)
    scratch.disconnect(one, "see_also", f"./{three}.slice")
    assert scratch.file(one).links == ()
    assert code_of(lambda: scratch.disconnect(one, "see_also", two)) == "no-link"


# ---- refresh


def test_a_derived_file_gets_its_body_and_its_sources_hash_in_one_step(scratch: ScratchLibrary) -> None:
    source = scratch.new("markdown", "One.")
    summary = scratch.new("markdown", "Sum.", links=(("derived_from", source),))
    scratch.remember(source, "Two.")
    scratch.refresh(summary, "New sum.", source_hash=scratch.file(source).hash)
    file = scratch.file(summary)
    assert (file.body, file.derived_from, file.updated_at) == (
        b"New sum.\n", DerivationSource(source, scratch.file(source).hash), scratch.last.time,
    )  # fmt: skip


def test_a_text_made_from_an_older_source_is_a_conflict(scratch: ScratchLibrary) -> None:
    source = scratch.new("markdown", "One.")
    summary = scratch.new("markdown", "Sum.", links=(("derived_from", source),))
    seen = scratch.file(source).hash
    scratch.remember(source, "Two.")
    assert code_of(lambda: scratch.refresh(summary, "New.", source_hash=seen)) == "conflict"
    assert scratch.body(summary) == "Sum.\n"


def test_only_a_derived_file_whose_body_may_be_replaced_is_refreshed(scratch: ScratchLibrary) -> None:
    source = scratch.new("markdown", "One.")
    assert code_of(lambda: scratch.refresh(source, "x")) == "not-derived"
    summary = scratch.new("markdown", "Sum.", "write=append", links=(("derived_from", source),))
    assert code_of(lambda: scratch.refresh(summary, "x")) == "write-mode"
    scratch.define(summary, ["contract.write=replace"])
    assert code_of(lambda: scratch.refresh(summary, "  ")) == "nothing-given"
    scratch.path(source).unlink()
    assert code_of(lambda: scratch.refresh(summary, "x")) == "no-file"


# ---- forget, restore, purge


def test_a_forgotten_file_is_archived_in_place_and_restored_unchanged(scratch: ScratchLibrary) -> None:
    """Ruling 31."""
    note = scratch.new("markdown", "Body.\n")
    before = scratch.path(note).read_bytes()
    scratch.forget(note, reason="outdated")
    mark = scratch.file(note).archived
    assert mark
    assert (mark.at, mark.reason) == (scratch.last.time, "outdated")
    assert not scratch.forget(note).changed
    assert code_of(lambda: scratch.remember(note, "x")) == "archived"
    scratch.restore(note)
    assert scratch.path(note).read_bytes() == before
    assert not scratch.restore(note).changed


def test_a_purge_leaves_a_tombstone_and_nothing_of_the_content(scratch: ScratchLibrary) -> None:
    """Ruling 31: a pointer without a body, with the hash and size of what was there."""
    note = scratch.new("markdown", "The password is hunter2.\n", links=(("see_also", scratch.new()),))
    scratch.define(note, ["meta.hint=hunter", "summary=About hunter2"])
    assert scratch.purge(note, dry_run=True).changed
    assert "hunter2" in scratch.body(note)
    scratch.purge(note, reason="secret")
    file = scratch.file(note)
    assert b"hunter" not in scratch.path(note).read_bytes()
    assert (file.id, file.title, file.kind, file.body_type, file.body) == (note, "Title", "pointer", "none", b"")
    assert file.payload
    assert (file.payload.hash, file.payload.size) == (digest(b"The password is hunter2.\n"), 25)
    assert file.purged
    assert (file.purged.at, file.purged.reason) == (scratch.last.time, "secret")
    assert is_well_formed(scratch)
    before = scratch.path(note).read_bytes()
    assert not scratch.purge(note).changed
    assert scratch.path(note).read_bytes() == before
    assert code_of(lambda: scratch.remember(note, "x")) == "purged"
    assert code_of(lambda: scratch.recall([note])) == "purged"


def test_a_purged_pointer_loses_its_copy_and_never_a_file_of_somebody_else(
    scratch: ScratchLibrary, tmp_path: Path
) -> None:
    (tmp_path / "data.bin").write_bytes(b"mine")
    copied = scratch.create("T", "S.", from_file=tmp_path / "data.bin", copy=True).id
    pointed = scratch.create("T", "S.", from_file=tmp_path / "data.bin").id
    for pointer in (copied, pointed):
        scratch.purge(pointer)
        payload = scratch.file(pointer).payload
        assert payload
        assert (payload.uri, payload.hash, payload.size) == (None, digest(b"mine"), 4)
    assert list((scratch.folder.path / "payloads").iterdir()) == []
    assert (tmp_path / "data.bin").read_bytes() == b"mine"


# ---- contracts and routines


def test_a_contract_says_where_excluded_topics_go(scratch: ScratchLibrary) -> None:
    meetings = scratch.create("Meetings", "S.").id
    note = scratch.new("markdown", "", "purpose=Decisions.", "exclude=Meeting notes", "exclude=gossip")
    scratch.connect(note, "routes_to", meetings, label="meeting  notes")
    contract = scratch.contract(note)
    assert contract["purpose"] == "Decisions."
    assert contract["exclude"] == [
        {"topic": "Meeting notes", "to": meetings, "title": "Meetings"},
        {"topic": "gossip", "to": None, "title": None},
    ]


def test_a_routine_compiles_to_steps_with_the_titles_of_what_they_read(scratch: ScratchLibrary) -> None:
    note = scratch.create("The guide", "S.").id
    routine = scratch.new("routine", f'{{"read": "{note}"}}\n{{"instruction": "Do it."}}')
    text = scratch.routine(routine)
    assert "The guide" in text
    assert text.index("The guide") < text.index("Do it.")
    assert code_of(lambda: scratch.routine(note)) == "write-mode"
    scratch.path(routine).write_bytes(scratch.path(routine).read_bytes() + b'{"run": "a", "read": "b"}\n')
    assert code_of(lambda: scratch.routine(routine)) == "broken-file"


def test_a_purge_reaches_the_texts_that_manifests_kept(scratch: ScratchLibrary) -> None:
    """Ruling 19: bytes become a tombstone, hashes stay."""
    note, other = scratch.new("markdown", "The password is hunter2."), scratch.new("markdown", "Harmless.")
    truth = Truth(scratch.workspace.database, create=True)
    pieces = {file_id: piece_of(file_id, text) for file_id, text in ((note, b"hunter2"), (other, b"Harmless"))}
    texts = {hash_bytes(digest(text)): text for text in (b"hunter2", b"Harmless")}
    name = truth.manifests.record(manifest_of(*pieces.values()), "2026-01-01T12:00:00.000Z", texts)
    scratch.purge(note)
    kept = {file_id: truth.texts.get(f"manifest:{name}", piece.text_hash) for file_id, piece in pieces.items()}
    truth.close()
    assert kept[note] == (None, "2026-01-01T12:00:02.000Z")
    assert kept[other] == (b"Harmless", None)


def piece_of(file_id: str, text: bytes) -> PinnedPiece:
    return PinnedPiece(
        ref=f"file:{file_id}", shown=f"file:{file_id}", corpus=f"file:{file_id}", group="G", label="L",
        span=Span(start=0, end=len(text)), length=len(text), text_hash=digest(text), score=0,
    )  # fmt: skip


def manifest_of(*pieces: PinnedPiece) -> Manifest:
    return Manifest(
        question="q", as_of="2026-01-01T12:00:00.000Z", budget=Budget(100), tokens_used=1, pieces=pieces, considered=1,
        left_out=left_out(()), filters={}, policy_params_hash=None, slices=(),
        ranker="r/1", tokenizer="bytes/3", renderer="markdown/2",
        rendered_hash=digest(b""),
    )  # fmt: skip


@pytest.mark.parametrize("path", ["../../x.slice", "/etc/passwd", "../out/x.slice", "../a/../../x/"])
def test_no_verb_writes_a_path_that_leads_out_of_the_workspace(
    scratch: ScratchLibrary, tmp_path: Path, path: str
) -> None:
    """Ruling 29: neither in links, nor in rows, steps and payloads."""
    (tmp_path / "out").symlink_to(tmp_path.parent)
    note, log, steps = scratch.new(), scratch.new("jsonl"), scratch.new("routine")
    row = f'{{"text": "x", "links": [{{"rel": "routes_to", "to": "{path}"}}]}}'
    assert code_of(scratch.define, note, [f"links=[{{rel: routes_to, to: {path}}}]"]) == "outside-workspace"
    assert code_of(scratch.remember, log, row) == "outside-workspace"
    assert code_of(scratch.remember, steps, f'{{"read": "{path}"}}') == "outside-workspace"
    assert code_of(scratch.create, "T", "S.", payload=Payload(path)) == "outside-workspace"
    assert scratch.body(log) == scratch.body(steps) == ""
    assert scratch.file(note).links == ()


def test_a_path_that_led_outside_before_does_not_stop_other_writes(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", "x", "overflow=split")
    scratch.path(note).write_bytes(
        scratch.path(note).read_bytes().replace(b"  contract:", b"  links: [{rel: see_also, to: /etc/x}]\n  contract:")
    )
    scratch.define(note, ["title=New"])
    scratch.remember(note, "y")
    assert scratch.file(note).title == "New"


def test_a_copy_that_no_file_names_is_reported(scratch: ScratchLibrary, tmp_path: Path) -> None:
    assert unclaimed_copies(scratch.folder) == []
    (tmp_path / "data.bin").write_bytes(b"mine")
    one, _ = (scratch.create("T", "S.", from_file=tmp_path / "data.bin", copy=True).id for _ in "ab")
    (scratch.folder.payloads / "by-hand.csv").write_bytes(b"x")
    assert unclaimed_copies(scratch.folder) == []
    scratch.path(one).unlink()
    assert unclaimed_copies(scratch.folder) == [scratch.folder.payloads / f"{one}.bin"]


def test_only_other_copies_wait_for_a_long_copy(scratch: ScratchLibrary) -> None:
    with locked(scratch.folder.payloads_lock):
        scratch.new()
