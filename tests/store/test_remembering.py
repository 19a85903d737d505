"""Writing to bodies, by write mode and body type (rulings 25 and 26)."""

from pathlib import Path

import pytest

from slicebase.files.body.entries import Stamp
from slicebase.files.body.rows import Provenance
from slicebase.files.body.supersession import active
from tests.codes import code_of
from tests.store.libraries import NOON, Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# ---- append


def test_a_text_becomes_a_row_of_a_log(desk: Desk) -> None:
    log = desk.new("jsonl")
    change = desk.remember(log, "Use PostgreSQL.\n", desk.stamp)
    (row,) = desk.rows(log)
    assert row.line.value == {
        "_meta": {"id": row.id, "created_at": "2026-01-01T12:00:01.000Z"},
        "text": "Use PostgreSQL.",
    }
    assert change.refs == (f"row:{log}/{row.id}",)


def test_an_object_becomes_the_row_with_its_fields_in_their_order(desk: Desk) -> None:
    log = desk.new("jsonl")
    desk.remember(log, '{\n "why": "team", "text": "Use PostgreSQL.", "n": 1.5\n}', desk.stamp)
    assert list(desk.rows(log)[0].line.value) == ["_meta", "why", "text", "n"]


def test_several_lines_of_objects_become_several_rows_in_one_write(desk: Desk) -> None:
    log = desk.new("jsonl")
    change = desk.remember(log, '{"text": "one"}\n\n{"text": "two"}\n', desk.stamp)
    assert [row.text for row in desk.rows(log)] == ["one", "two"]
    assert [row.id for row in desk.rows(log)] == sorted(row.id for row in desk.rows(log))
    assert len(change.refs) == 2


def test_what_an_object_says_of_itself_stays_and_what_it_may_not_say_is_refused(desk: Desk) -> None:
    """Ruling 27: links and confidence are written in `_meta`."""
    log = desk.new("jsonl")
    desk.remember(
        log,
        '{"_meta": {"confidence": 0.9, "status": "draft"}, "text": "x", "links": [{"rel": "see_also", "to": "01B"}]}',
        desk.stamp,
    )
    row = desk.rows(log)[0]
    assert row.line.value["_meta"]["links"] == [{"rel": "see_also", "to": "01B"}]
    assert (row.confidence, row.status, "links" in row.line.value) == (0.9, "draft", False)
    for meta in (
        '{"supersedes": ["x"]}',
        '{"id": "mine"}',
        '{"created_at": "2026-01-01T00:00:00Z"}',
        '{"mood": 1}',
        '{"confidence": 2}',
        "[]",
    ):
        assert code_of(desk.remember, log, f'{{"_meta": {meta}}}', desk.stamp) == "bad-row"
    assert len(desk.rows(log)) == 1


def test_appending_a_row_leaves_every_other_byte_as_it_was(desk: Desk) -> None:
    """Ruling 26: not even the time of the last change moves, so that two branches merge."""
    log = desk.new("jsonl", '{"text": "first"}')
    before = desk.path(log).read_bytes()
    desk.remember(log, "second", Stamp(NOON, b"0123456789", Provenance(agent="me")))
    after = desk.path(log).read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 1


def test_a_row_begins_on_a_line_of_its_own(desk: Desk) -> None:
    log = desk.new("jsonl", '{"text": "first"}')
    desk.path(log).write_bytes(desk.path(log).read_bytes().rstrip(b"\n"))
    desk.remember(log, "second", desk.stamp)
    assert [row.text for row in desk.rows(log)] == ["first", "second"]


def test_rows_of_one_moment_keep_the_order_in_which_they_were_written(desk: Desk) -> None:
    log = desk.new("jsonl")
    for number in range(20):
        desk.remember(log, str(number), Stamp(NOON, bytes([255 - number] * 10)))
    assert [row.text for row in active(desk.rows(log))] == [str(number) for number in range(20)]


def test_a_paragraph_follows_one_blank_line_and_moves_the_time_of_the_last_change(desk: Desk) -> None:
    for body, expected in (("One.", "One.\n\nTwo.\n"), ("One.\n\n", "One.\n\nTwo.\n"), ("", "Two.\n")):
        note = desk.new("text", body)
        stamp = desk.stamp
        desk.remember(note, "Two.\n", stamp)
        assert desk.body(note) == expected
        assert desk.file(note).updated_at == stamp.time


def test_line_ends_of_a_body_are_kept_up(desk: Desk) -> None:
    """Ruling 20."""
    note = desk.new("markdown", "# A\r\n\r\none\r\n\r\n# B\r\n\r\ntwo\r\n")
    desk.remember(note, "three\nfour", desk.stamp, section="A")
    assert desk.body(note) == "# A\r\n\r\none\r\n\r\nthree\r\nfour\r\n\r\n# B\r\n\r\ntwo\r\n"


def test_a_paragraph_goes_to_the_end_of_its_section(desk: Desk) -> None:
    note = desk.new("markdown", "# Notes\n\n## Open\n\nFirst.\n## Done\n\nNothing.\n")
    desk.remember(note, "Second.", desk.stamp, section="Open")
    desk.remember(note, "Third.", desk.stamp, section="notes/done")
    assert desk.body(note) == "# Notes\n\n## Open\n\nFirst.\n\nSecond.\n\n## Done\n\nNothing.\n\nThird.\n"


def test_a_section_that_is_not_there_or_not_the_only_one_is_refused(desk: Desk) -> None:
    note = desk.new("markdown", "# A\n\n## X\n\n# B\n\n## X\n")
    assert code_of(lambda: desk.remember(note, "x", desk.stamp, section="Y")) == "no-section"
    assert code_of(lambda: desk.remember(note, "x", desk.stamp, section="X")) == "ambiguous-section"
    desk.remember(note, "here", desk.stamp, section="b/x")
    assert desk.body(note).endswith("## X\n\nhere\n")
    assert code_of(lambda: desk.remember(desk.new("text", "# A"), "x", desk.stamp, section="A")) == "write-mode"


def test_a_line_of_a_conversation_says_who_speaks_and_gets_its_time(desk: Desk) -> None:
    talk = desk.new("conversation")
    head = desk.file(talk).head
    desk.remember(talk, '{"role": "tool_call", "name": "ls", "call_id": "c1"}', desk.stamp)
    desk.remember(talk, '{"role": "tool_result", "call_id": "c1", "content": "a b"}', desk.stamp)
    assert desk.body(talk).count('"ts":"2026-01-01T12:00:0') == 2
    assert desk.file(talk).head == head
    assert code_of(lambda: desk.remember(talk, "hello", desk.stamp)) == "bad-row"
    assert code_of(lambda: desk.remember(talk, '{"role": "user"}', desk.stamp)) == "bad-row"
    again = '{"role": "tool_result", "call_id": "c1", "content": "c d"}'
    assert code_of(desk.remember, talk, again, desk.stamp) == "breaks-rule"


def test_a_text_becomes_an_instruction_of_a_routine(desk: Desk) -> None:
    routine = desk.new("routine")
    desk.remember(routine, "Run the tests.", desk.stamp)
    desk.remember(routine, '{"run": "make test", "note": "twice"}', desk.stamp)
    assert desk.body(routine) == '{"instruction":"Run the tests."}\n{"run":"make test","note":"twice"}\n'
    assert code_of(lambda: desk.remember(routine, '{"run": "a", "read": "b"}', desk.stamp)) == "bad-row"


# ---- supersede, replace, error


def test_a_new_row_may_supersede_old_ones_of_its_log(desk: Desk) -> None:
    log = desk.new("jsonl", '{"text": "REST"}')
    old = desk.rows(log)[0].id
    desk.remember(log, "GraphQL", desk.stamp, supersedes=[old])
    assert [row.text for row in active(desk.rows(log))] == ["GraphQL"]
    assert code_of(lambda: desk.remember(log, "x", desk.stamp, supersedes=["01NOWHERE"])) == "no-row"


def test_a_row_that_was_superseded_meanwhile_is_a_conflict(desk: Desk) -> None:
    """Two agents that replace the same row would leave two heads."""
    log = desk.new("jsonl", '{"text": "REST"}')
    old = desk.rows(log)[0].id
    desk.remember(log, "GraphQL", desk.stamp, supersedes=[old])
    assert code_of(lambda: desk.remember(log, "gRPC", desk.stamp, supersedes=[old])) == "conflict"


def test_a_log_that_is_superseded_wants_to_know_which_rows(desk: Desk) -> None:
    log = desk.new("jsonl", "", "write=supersede")
    desk.remember(log, "the first", desk.stamp)
    assert code_of(lambda: desk.remember(log, "another", desk.stamp)) == "write-mode"
    desk.remember(log, "the second", desk.stamp, supersedes=[desk.rows(log)[0].id])
    assert [row.text for row in active(desk.rows(log))] == ["the second"]


def test_files_joined_by_part_of_are_one_log(desk: Desk) -> None:
    """Ruling 32."""
    one = desk.new("jsonl", '{"text": "REST"}')
    two = desk.new("jsonl", links=(("part_of", one),))
    old = desk.rows(one)[0].id
    desk.remember(two, "GraphQL", desk.stamp, supersedes=[old])
    assert code_of(lambda: desk.remember(one, "gRPC", desk.stamp, supersedes=[old])) == "conflict"


def test_a_body_is_replaced_as_a_whole(desk: Desk) -> None:
    for body_type, new in (("markdown", "# New\n"), ("yaml", "a: 1\n"), ("code", "print()\n"), ("text", "new\n")):
        note = desk.new(body_type, "old: 1\n", "write=replace")
        desk.remember(note, new, desk.stamp)
        assert desk.body(note) == new
        assert desk.file(note).updated_at


def test_a_section_is_replaced_alone(desk: Desk) -> None:
    note = desk.new("markdown", "Top\n===\n\nold\n\n## Next\n\nstays\n", "write=replace")
    desk.remember(note, "new", desk.stamp, section="Top")
    assert desk.body(note) == "Top\n===\n\nnew\n\n## Next\n\nstays\n"


def test_rows_that_are_put_back_keep_their_envelope_and_new_ones_get_theirs(desk: Desk) -> None:
    log = desk.new("jsonl", '{"text": "one"}\n{"text": "two"}', "write=replace")
    second = desk.body(log).splitlines()[1]
    desk.remember(log, second, desk.stamp)
    assert desk.body(log) == second + "\n"
    desk.remember(log, "three", desk.stamp)
    assert [row.text for row in desk.rows(log)] == ["three"]


def test_a_replacement_that_breaks_a_rule_is_refused(desk: Desk) -> None:
    note = desk.new("yaml", "a: 1\n")
    assert code_of(lambda: desk.remember(note, "a: [1", desk.stamp)) == "breaks-rule"
    assert desk.body(note) == "a: 1\n"


def test_modes_that_a_body_cannot_have_and_read_only_files_are_refused(desk: Desk) -> None:
    for body_type, mode in (("markdown", "supersede"), ("yaml", "append"), ("markdown", "error"), ("jsonl", "error")):
        note = desk.new(body_type, "", f"write={mode}")
        before = desk.path(note).read_bytes()
        assert code_of(desk.remember, note, "x", desk.stamp) == "write-mode"
        assert desk.path(note).read_bytes() == before


def test_only_what_fits_the_body_can_be_asked_for(desk: Desk) -> None:
    note = desk.new("markdown", "# A")
    assert code_of(lambda: desk.remember(note, "x", desk.stamp, supersedes=["r"])) == "write-mode"
    assert code_of(lambda: desk.remember(note, " \n", desk.stamp)) == "nothing-given"
    log = desk.new("jsonl")
    assert code_of(lambda: desk.remember(log, "x", desk.stamp, section="A")) == "write-mode"
    desk.remember(log, "x", desk.stamp)
    first = desk.rows(log)[0].id
    assert code_of(lambda: desk.remember(log, '{"a": 1}\n{"a": 2}', desk.stamp, supersedes=[first])) == "bad-row"


@pytest.mark.parametrize("text", ["half \ud800", '{"n": 9007199254740993}', '{"n": 1e999}'])
def test_what_would_be_lost_on_the_way_is_refused_or_kept_as_text(desk: Desk, text: str) -> None:
    log = desk.new("jsonl")
    try:
        desk.remember(log, text, desk.stamp)
    except Exception as error:
        assert getattr(error, "code", None) in ("lone-surrogate", "integer-range"), error
        assert desk.rows(log) == ()
    else:
        assert desk.rows(log)[0].text == text


# ---- provenance


def test_provenance_is_captured_by_every_write(desk: Desk) -> None:
    """§ Provenance: rows carry it in `_meta`, other writes in the frontmatter."""

    def stamp() -> Stamp:
        return desk.stamp._replace(provenance=Provenance(agent="cursor", session="s1"))

    log = desk.create("T", "S.", stamp(), body_type="jsonl").id
    desk.remember(log, '{"_meta": {"provenance": {"source": "inference"}}, "text": "x"}', stamp())
    assert desk.rows(log)[0].provenance == Provenance("cursor", "s1", "inference")
    other = desk.new()
    for change in (
        desk.create("T", "S.", stamp()),
        desk.remember(desk.new(), "x", stamp()),
        desk.define(desk.new(), ["title=New"], stamp()),
        desk.connect(desk.new(), "see_also", other, stamp()),
        desk.forget(desk.new(), stamp()),
        desk.purge(desk.new(), stamp()),
    ):
        assert desk.file(change.id).frontmatter["slice"]["updated_by"] == {"agent": "cursor", "session": "s1"}
    steps = desk.new("routine")
    desk.remember(steps, "Do it.", stamp())
    assert '"provenance":{"agent":"cursor","session":"s1"}' in desk.body(steps)


def test_without_provenance_nothing_says_who_wrote(desk: Desk) -> None:
    note = desk.new()
    desk.remember(note, "x", desk.stamp)
    assert "updated_by" not in desk.file(note).frontmatter["slice"]


def test_a_row_with_a_link_that_breaks_a_rule_is_refused(desk: Desk) -> None:
    log = desk.new("jsonl", '{"text": "x"}')
    row = '{"text": "y", "_meta": {"links": [{"rel": "loves", "to": "01B"}]}}'
    assert code_of(desk.remember, log, row, desk.stamp) == "breaks-rule"
    assert len(desk.rows(log)) == 1
