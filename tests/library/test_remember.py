"""Writes to bodies, by write mode and body type (rulings 25 and 26)."""

from itertools import count
from pathlib import Path

import pytest

from slicebase.errors import SlicebaseError
from slicebase.files.body.rows import Provenance
from slicebase.files.body.supersession import active
from slicebase.workspace.surroundings import Surroundings
from tests.codes import code_of
from tests.library.samples import rows
from tests.library.scratch import NOON, ScratchLibrary


@pytest.fixture
def scratch(tmp_path: Path) -> ScratchLibrary:
    return ScratchLibrary(tmp_path)


# ---- append


def test_a_text_becomes_a_row_of_a_log(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl")
    change = scratch.remember(log, "Use PostgreSQL.\n")
    (row,) = scratch.rows(log)
    assert row.line.value == {
        "_meta": {"id": row.id, "created_at": "2026-01-01T12:00:01.000Z"},
        "text": "Use PostgreSQL.",
    }
    assert change.refs == (f"row:{log}/{row.id}",)


def test_an_object_becomes_the_row_with_its_fields_in_their_order(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl")
    scratch.remember(log, '{\n "why": "team", "text": "Use PostgreSQL.", "n": 1.5\n}')
    assert list(scratch.rows(log)[0].line.value) == ["_meta", "why", "text", "n"]


def test_several_lines_of_objects_become_several_rows_in_one_write(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl")
    change = scratch.remember(log, '{"text": "one"}\n\n{"text": "two"}\n')
    assert [row.text for row in scratch.rows(log)] == ["one", "two"]
    assert [row.id for row in scratch.rows(log)] == sorted(row.id for row in scratch.rows(log))
    assert len(change.refs) == 2


def test_metadata_that_an_object_gives_stays_and_what_it_may_not_give_is_refused(scratch: ScratchLibrary) -> None:
    """Ruling 27: links and confidence are written in `_meta`."""
    log = scratch.new("jsonl")
    scratch.remember(
        log,
        '{"_meta": {"confidence": 0.9, "status": "draft"}, "text": "x", "links": [{"rel": "see_also", "to": "01B"}]}',
    )
    row = scratch.rows(log)[0]
    assert row.line.value["_meta"]["links"] == [{"rel": "see_also", "to": "01B"}]
    assert (row.confidence, row.status, "links" in row.line.value) == (0.9, "draft", False)
    for meta in (
        '{"supersedes": ["x"]}',
        '{"id": "mine"}',
        '{"created_at": "2026-01-01T00:00:00Z"}',
        '{"confidence": 2}',
        "[]",
    ):
        assert code_of(scratch.remember, log, f'{{"_meta": {meta}}}') == "breaks-rule"
    assert len(scratch.rows(log)) == 1


def test_appending_a_row_leaves_every_other_byte_as_it_was(scratch: ScratchLibrary) -> None:
    """Ruling 26: not even the time of the last change moves, so that two branches merge."""
    log = scratch.new("jsonl", '{"text": "first"}')
    before = scratch.path(log).read_bytes()
    scratch.remember(log, "second", provenance=Provenance(agent="me"))
    after = scratch.path(log).read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 1


def test_a_row_begins_on_a_line_of_its_own(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", '{"text": "first"}')
    scratch.path(log).write_bytes(scratch.path(log).read_bytes().rstrip(b"\n"))
    scratch.remember(log, "second")
    assert [row.text for row in scratch.rows(log)] == ["first", "second"]


def test_rows_of_one_moment_keep_the_order_in_which_they_were_written(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl")
    falling = count(255, -1)
    scratch.surroundings = Surroundings(
        scratch.workspace, lambda: NOON / 1000, lambda size: bytes([next(falling)] * size)
    )
    for number in range(20):
        scratch.remember(log, str(number))
    assert [row.text for row in active(scratch.rows(log))] == [str(number) for number in range(20)]


def test_a_paragraph_follows_one_blank_line_and_moves_the_time_of_the_last_change(scratch: ScratchLibrary) -> None:
    for body, expected in (("One.", "One.\n\nTwo.\n"), ("One.\n\n", "One.\n\nTwo.\n"), ("", "Two.\n")):
        note = scratch.new("text", body)
        scratch.remember(note, "Two.\n")
        assert scratch.body(note) == expected
        assert scratch.file(note).updated_at == scratch.last.time


def test_new_lines_get_the_line_ends_of_the_body(scratch: ScratchLibrary) -> None:
    """Ruling 20."""
    note = scratch.new("markdown", "# A\r\n\r\none\r\n\r\n# B\r\n\r\ntwo\r\n")
    scratch.remember(note, "three\nfour", section="A")
    assert scratch.body(note) == "# A\r\n\r\none\r\n\r\nthree\r\nfour\r\n\r\n# B\r\n\r\ntwo\r\n"


def test_a_paragraph_goes_to_the_end_of_its_section(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", "# Notes\n\n## Open\n\nFirst.\n## Done\n\nNothing.\n")
    scratch.remember(note, "Second.", section="Open")
    scratch.remember(note, "Third.", section="notes/done")
    assert scratch.body(note) == "# Notes\n\n## Open\n\nFirst.\n\nSecond.\n\n## Done\n\nNothing.\n\nThird.\n"


def test_a_section_that_is_missing_or_ambiguous_is_refused(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", "# A\n\n## X\n\n# B\n\n## X\n")
    assert code_of(lambda: scratch.remember(note, "x", section="Y")) == "no-section"
    assert code_of(lambda: scratch.remember(note, "x", section="X")) == "ambiguous-section"
    scratch.remember(note, "here", section="b/x")
    assert scratch.body(note).endswith("## X\n\nhere\n")
    assert code_of(lambda: scratch.remember(scratch.new("text", "# A"), "x", section="A")) == "write-mode"


def test_a_line_of_a_conversation_says_who_speaks_and_gets_its_time(scratch: ScratchLibrary) -> None:
    talk = scratch.new("conversation")
    head = scratch.file(talk).head
    scratch.remember(talk, '{"role": "tool_call", "name": "ls", "call_id": "c1"}')
    scratch.remember(talk, '{"role": "tool_result", "call_id": "c1", "content": "a b"}')
    assert scratch.body(talk).count('"ts":"2026-01-01T12:00:0') == 2
    assert scratch.file(talk).head == head
    assert code_of(lambda: scratch.remember(talk, "hello")) == "breaks-rule"
    assert code_of(lambda: scratch.remember(talk, '{"role": "user"}')) == "breaks-rule"
    again = '{"role": "tool_result", "call_id": "c1", "content": "c d"}'
    assert code_of(scratch.remember, talk, again) == "breaks-rule"


def test_a_text_becomes_an_instruction_of_a_routine(scratch: ScratchLibrary) -> None:
    routine = scratch.new("routine")
    scratch.remember(routine, "Run the tests.")
    scratch.remember(routine, '{"run": "make test", "note": "twice"}')
    assert scratch.body(routine) == '{"instruction":"Run the tests."}\n{"run":"make test","note":"twice"}\n'
    assert code_of(lambda: scratch.remember(routine, '{"run": "a", "read": "b"}')) == "breaks-rule"


# ---- supersede, replace, error


def test_a_new_row_may_supersede_old_ones_of_its_log(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", '{"text": "REST"}')
    old = scratch.rows(log)[0].id
    scratch.remember(log, "GraphQL", supersedes=[old])
    assert [row.text for row in active(scratch.rows(log))] == ["GraphQL"]
    assert code_of(lambda: scratch.remember(log, "x", supersedes=["01NOWHERE"])) == "no-row"


def test_a_row_that_was_superseded_in_the_meantime_is_a_conflict(scratch: ScratchLibrary) -> None:
    """Two agents that replace the same row would leave two heads."""
    log = scratch.new("jsonl", '{"text": "REST"}')
    old = scratch.rows(log)[0].id
    scratch.remember(log, "GraphQL", supersedes=[old])
    assert code_of(lambda: scratch.remember(log, "gRPC", supersedes=[old])) == "conflict"


def test_a_row_that_names_none_starts_a_chain_of_its_own_in_mode_supersede(scratch: ScratchLibrary) -> None:
    """Ruling 25."""
    log = scratch.new("jsonl", "", "write=supersede")
    scratch.remember(log, "the first")
    scratch.remember(log, "another fact")
    scratch.remember(log, "the second", supersedes=[scratch.rows(log)[0].id])
    assert [row.text for row in active(scratch.rows(log))] == ["another fact", "the second"]


@pytest.mark.parametrize(
    ("old", "new", "is_known"),
    [
        ('{"topic": "Storage", "text": "Redis"}', '{"topic": "storage ", "text": "PostgreSQL"}', True),
        ('{"key": "port", "text": "unset"}', '{"key": "host", "text": "unset"}', False),
        ('{"title": "A", "key": "k"}', '{"title": "B", "key": "K"}', True),
        ('{"topic": "storage"}', '{"key": "storage"}', False),
        ("Use  Redis.", "use redis.", True),
        ("Use Redis.", "Use PostgreSQL.", False),
        ('{"n": 1}', '{"n": 1}', False),
        ('{"key": 42, "text": "open"}', '{"key": 42, "text": "closed"}', True),
        ('{"key": 42, "text": "open"}', '{"key": "42", "text": "closed"}', True),
        ('{"key": 0, "text": "open"}', '{"key": false, "text": "open"}', False),
        ('{"topic": {"a": 1, "b": [2]}, "text": "1"}', '{"topic": {"b": [2], "a": 1}, "text": "2"}', True),
        ('{"topic": null, "text": "1"}', '{"topic": null, "text": "2"}', False),
    ],
)
def test_a_topic_that_a_log_has_is_superseded_or_confirmed_as_new(
    scratch: ScratchLibrary, old: str, new: str, is_known: bool
) -> None:
    log = scratch.new("jsonl", "", "write=supersede")
    scratch.remember(log, old)
    if is_known:
        assert code_of(scratch.remember, log, new) == "topic-exists"
        assert len(scratch.rows(log)) == 1
    scratch.remember(log, new, new=is_known)
    assert len(active(scratch.rows(log))) == 2


def test_two_new_rows_about_the_same_topic_are_confirmed_as_new(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", "", "write=supersede")
    apart = '{"topic": "a", "text": "1"}\n{"topic": "b", "text": "1"}'
    again = apart.replace('"b"', '"A "')
    assert code_of(scratch.remember, log, again) == "topic-exists"
    assert scratch.rows(log) == ()
    scratch.remember(log, again, new=True)
    scratch.remember(scratch.new("jsonl", "", "write=supersede"), apart)
    assert len(active(scratch.rows(log))) == 2


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (['{"topic": 8080, "open": true}', '{"topic": 8080}'], "the same topic, 8080"),
        (['{"key": "Port", "text": "A long story."}', '{"key": "port"}'], "the same key, 'Port'"),
        (["Use Redis.", "use redis."], "the same text, 'Use Redis.'"),
    ],
)
def test_the_error_says_what_two_rows_have_in_common(scratch: ScratchLibrary, rows: list[str], said: str) -> None:
    log = scratch.new("jsonl", "", "write=supersede")
    scratch.remember(log, rows[0])
    for known, text in ((log, rows[1]), (scratch.new("jsonl", "", "write=supersede"), "\n".join(rows))):
        if known == log or text.startswith("{"):  # lines of prose are one row
            with pytest.raises(SlicebaseError, match=said):
                scratch.remember(known, text)


def test_a_topic_that_was_superseded_is_no_longer_in_the_way(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", '{"topic": "a", "text": "1"}', "write=supersede")
    scratch.remember(log, "Something else.", supersedes=[scratch.rows(log)[0].id])
    scratch.remember(log, '{"topic": "a", "text": "2"}')


def test_new_is_for_rows_that_supersede_none(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", '{"text": "x"}', "write=supersede")
    assert code_of(scratch.remember, log, "y", new=True, supersedes=[scratch.rows(log)[0].id]) == "usage"
    assert code_of(scratch.remember, scratch.new("markdown"), "y", new=True) == "write-mode"


def test_a_row_is_named_by_the_beginning_of_its_id_that_no_other_row_has(scratch: ScratchLibrary) -> None:
    """Ruling 53."""
    log = scratch.new("jsonl", rows({"id": "01AAAABBBB1", "text": "one"}, {"id": "01AAAABBBB2"}, {"id": "01AAAABC"}))
    assert code_of(scratch.remember, log, "x", supersedes=["01AAAABBB"]) == "ambiguous-id"
    assert code_of(scratch.remember, log, "x", supersedes=["01AAAAB"]) == "no-row"
    scratch.remember(log, "x", supersedes=["01AAAABBBB2", f"row:{log}/01AAAABC"])
    assert scratch.rows(log)[-1].supersedes == ("01AAAABBBB2", "01AAAABC")
    old = scratch.rows(log)[-1].id
    scratch.remember(log, "y", supersedes=[old[:20]])
    assert scratch.rows(log)[-1].supersedes == (old,)
    assert code_of(scratch.recall, [f"row:{log}/01AAAABBBB"]) == "ambiguous-id"
    assert "y" in scratch.recall([f"row:{log}/{scratch.rows(log)[-1].id[:22]}"]).text
    note = scratch.new()
    scratch.connect(note, "see_also", f"row:{log[:20]}/{old[:20]}")
    assert scratch.file(note).links[0].to == f"row:{log}/{old}"


def test_files_joined_by_part_of_are_one_log(scratch: ScratchLibrary) -> None:
    """Ruling 32."""
    one = scratch.new("jsonl", '{"text": "REST"}')
    two = scratch.new("jsonl", links=(("part_of", one),))
    old = scratch.rows(one)[0].id
    scratch.remember(two, "GraphQL", supersedes=[old])
    assert code_of(lambda: scratch.remember(one, "gRPC", supersedes=[old])) == "conflict"


def test_a_body_is_replaced_completely(scratch: ScratchLibrary) -> None:
    for body_type, new in (("markdown", "# New\n"), ("yaml", "a: 1\n"), ("code", "print()\n"), ("text", "new\n")):
        note = scratch.new(body_type, "old: 1\n", "write=replace")
        scratch.remember(note, new)
        assert scratch.body(note) == new
        assert scratch.file(note).updated_at


def test_a_section_is_replaced_alone(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", "Top\n===\n\nold\n\n## Next\n\nstays\n", "write=replace")
    scratch.remember(note, "new", section="Top")
    assert scratch.body(note) == "Top\n===\n\nnew\n\n## Next\n\nstays\n"


def test_rows_that_are_written_again_keep_their_envelope_and_new_ones_get_one(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", '{"text": "one"}\n{"text": "two"}', "write=replace")
    second = scratch.body(log).splitlines()[1]
    scratch.remember(log, second)
    assert scratch.body(log) == second + "\n"
    scratch.remember(log, "three")
    assert [row.text for row in scratch.rows(log)] == ["three"]


def test_a_replacement_that_breaks_a_rule_is_refused(scratch: ScratchLibrary) -> None:
    note = scratch.new("yaml", "a: 1\n")
    assert code_of(lambda: scratch.remember(note, "a: [1")) == "breaks-rule"
    assert scratch.body(note) == "a: 1\n"


def test_modes_that_a_body_cannot_have_and_read_only_files_are_refused(scratch: ScratchLibrary) -> None:
    for body_type, mode in (("markdown", "supersede"), ("yaml", "append"), ("markdown", "error"), ("jsonl", "error")):
        note = scratch.new(body_type, "", f"write={mode}")
        before = scratch.path(note).read_bytes()
        assert code_of(scratch.remember, note, "x") == "write-mode"
        assert scratch.path(note).read_bytes() == before


def test_options_that_do_not_fit_the_body_are_refused(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", "# A")
    assert code_of(lambda: scratch.remember(note, "x", supersedes=["r"])) == "write-mode"
    assert code_of(lambda: scratch.remember(note, " \n")) == "nothing-given"
    log = scratch.new("jsonl")
    assert code_of(lambda: scratch.remember(log, "x", section="A")) == "write-mode"
    scratch.remember(log, "x")
    first = scratch.rows(log)[0].id
    assert code_of(lambda: scratch.remember(log, '{"a": 1}\n{"a": 2}', supersedes=[first])) == "breaks-rule"


@pytest.mark.parametrize("text", ["half \ud800", '{"n": 9007199254740993}', '{"n": 1e999}'])
def test_values_that_json_would_lose_are_refused_or_kept_as_text(scratch: ScratchLibrary, text: str) -> None:
    log = scratch.new("jsonl")
    try:
        scratch.remember(log, text)
    except Exception as error:
        assert getattr(error, "code", None) in ("lone-surrogate", "integer-range", "not-finite"), error
        assert scratch.rows(log) == ()
    else:
        assert scratch.rows(log)[0].text == text


# ---- provenance


def test_provenance_is_captured_by_every_write(scratch: ScratchLibrary) -> None:
    """§ Provenance: rows carry it in `_meta`, other writes in the frontmatter."""
    who = Provenance(agent="cursor", session="s1")
    log = scratch.create("T", "S.", type="jsonl", provenance=who).id
    scratch.remember(log, '{"_meta": {"provenance": {"source": "inference"}}, "text": "x"}', provenance=who)
    assert scratch.rows(log)[0].provenance == Provenance("cursor", "s1", "inference")
    other = scratch.new()
    for change in (
        scratch.create("T", "S.", provenance=who),
        scratch.remember(scratch.new(), "x", provenance=who),
        scratch.define(scratch.new(), ["title=New"], provenance=who),
        scratch.connect(scratch.new(), "see_also", other, provenance=who),
        scratch.forget(scratch.new(), provenance=who),
        scratch.purge(scratch.new(), provenance=who),
    ):
        assert scratch.file(change.id).frontmatter["slice"]["updated_by"] == {"agent": "cursor", "session": "s1"}
    steps = scratch.new("routine")
    scratch.remember(steps, "Do it.", provenance=who)
    assert '"provenance":{"agent":"cursor","session":"s1"}' in scratch.body(steps)


def test_without_provenance_nothing_says_who_wrote(scratch: ScratchLibrary) -> None:
    note = scratch.new()
    scratch.remember(note, "x")
    assert "updated_by" not in scratch.file(note).frontmatter["slice"]


def test_a_row_with_a_link_that_breaks_a_rule_is_refused(scratch: ScratchLibrary) -> None:
    log = scratch.new("jsonl", '{"text": "x"}')
    row = '{"text": "y", "_meta": {"links": [{"rel": "see_also", "to": "https://example.org"}]}}'
    assert code_of(scratch.remember, log, row) == "breaks-rule"
    assert len(scratch.rows(log)) == 1
