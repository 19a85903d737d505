"""A file with the parts that overflow created is one object, in every verb (ruling 32)."""

import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.files.body.part_order import ordered
from slicebase.files.body.sections import sections, slug
from slicebase.files.body.whole import whole_pieces
from slicebase.files.create import new_file
from slicebase.files.model import Link
from slicebase.files.slice_file import SliceFile
from slicebase.library.check import validate
from slicebase.library.logs import Logs
from slicebase.verbs.doctor import examine
from slicebase.workspace.atomic import TEMPORARY
from slicebase.workspace.settings import Settings
from tests.amounts import MORE
from tests.codes import code_of
from tests.kills import Killed, killed_at
from tests.library.scratch import ScratchLibrary

LIMIT, COUNT, PASSED = 900, 16, 100
LONG = "words and words and words and more words, and then as many words again, and some words"
LINES = {
    "jsonl": '{{"text": "number {0}. {1}"}}',
    "text": "number {0}. {1}",
    "markdown": "number {0}. {1}",
    "routine": '{{"instruction": "number {0}. {1}"}}',
    "conversation": '{{"role": "user", "content": "number {0}. {1}"}}',
}


@pytest.fixture
def scratch(tmp_path: Path) -> ScratchLibrary:
    return ScratchLibrary(tmp_path, Settings(overflow_bytes=LIMIT))


def filled(scratch: ScratchLibrary, body_type: str, overflow: str) -> str:
    """Fills an empty library with a log that has parts: a copy of one that was written entry by entry."""
    log, files = written(body_type, overflow)
    for name, data in files.items():
        (scratch.folder.path / name).write_bytes(data)
    for _ in range(PASSED):  # the files have the ids and the times of these moments
        scratch.surroundings.new_id()
    return log


@cache
def written(body_type: str, overflow: str) -> tuple[str, dict[str, bytes]]:
    """Returns the id of a log that has parts, and the files of its library."""
    with TemporaryDirectory() as folder:
        scratch = ScratchLibrary(Path(folder), Settings(overflow_bytes=LIMIT))
        log = scratch.new(body_type, "", f"overflow={overflow}")
        for number in range(COUNT):
            scratch.remember(log, LINES[body_type].format(number, LONG))
        return log, {path.name: path.read_bytes() for path in scratch.folder.path.iterdir() if path.is_file()}


def whole(scratch: ScratchLibrary, file_id: str) -> list[SliceFile]:
    return Logs(scratch.folder).whole(scratch.folder.find(file_id))


@pytest.mark.parametrize("overflow", ["split", "archive"])
@pytest.mark.parametrize("body_type", LINES)
def test_every_type_moves_to_parts_and_is_read_in_the_order_it_was_written(
    scratch: ScratchLibrary, body_type: str, overflow: str
) -> None:
    log = filled(scratch, body_type, overflow)
    files = whole(scratch, log)
    assert len(files) > 2
    text = "".join(file.body.decode() for file in files)
    places = [text.index(f"number {number}. ") for number in range(COUNT)]
    assert places == sorted(places)
    assert all(text.count(f"number {number}. ") == 1 for number in range(COUNT))
    recalled = scratch.recall(log).text
    places = [recalled.index(f"number {number}. ") for number in range(COUNT)]
    assert places == sorted(places)
    report = validate([scratch.folder.path], scratch.workspace.root)
    assert not report.counts["error"] + report.counts["warning"]


@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_a_routine_is_compiled_with_all_its_parts_in_order(scratch: ScratchLibrary, overflow: str) -> None:
    log = filled(scratch, "routine", overflow)
    lines = [line for line in scratch.routine(log).splitlines() if "number" in line]
    assert lines == [f"{number + 1}. number {number}. {LONG}" for number in range(COUNT)]
    part = whole(scratch, log)[-1 if overflow == "split" else 0]
    assert "1. number" in scratch.routine(part.id or "")


def test_a_broken_step_in_a_part_stops_the_routine(scratch: ScratchLibrary) -> None:
    log = filled(scratch, "routine", "split")
    path = scratch.path(whole(scratch, log)[-1].id or "")
    path.write_bytes(path.read_bytes() + b"no json\n")
    assert code_of(scratch.routine, log) == "broken-file"


@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_a_row_is_found_by_its_file_wherever_overflow_moved_it(scratch: ScratchLibrary, overflow: str) -> None:
    log = scratch.new("jsonl", "", f"overflow={overflow}")
    ids = [scratch.remember(log, f"number {number}. {LONG}").refs[0].rpartition("/")[2] for number in range(COUNT)]
    for at in (0, 6, 11):
        assert f"number {at}. " in scratch.recall(f"row:{log}/{ids[at]}").text
    note = scratch.new()
    scratch.connect(note, "see_also", f"row:{log}/{ids[0]}")
    scratch.remember(log, "The newest.", supersedes=[ids[0], ids[11]])
    assert "number 0. " not in scratch.recall(log).text


def test_what_is_forgotten_and_restored_is_the_whole(scratch: ScratchLibrary) -> None:
    log = filled(scratch, "jsonl", "split")
    first, *_, last = whole(scratch, log)
    before = {file.id: scratch.path(file.id or "").read_bytes() for file in whole(scratch, log)}
    scratch.forget(last.id or "", reason="alone")
    assert scratch.forget(log, reason="all").changed
    assert scratch.search("words").total == 0
    assert code_of(scratch.remember, log, "x") == "archived"
    assert scratch.restore(log).changed
    assert scratch.file(last.id or "").archived
    assert f"number {COUNT - 1}. " not in scratch.recall(log).text
    scratch.restore(last.id or "")
    assert {file_id: scratch.path(file_id or "").read_bytes() for file_id in before} == before
    assert first.id == log


@pytest.mark.parametrize("overflow", ["split", "archive"])
@pytest.mark.parametrize("body_type", LINES)
def test_who_reads_a_forgotten_file_reads_the_parts_that_were_forgotten_with_it(
    scratch: ScratchLibrary, body_type: str, overflow: str
) -> None:
    log = filled(scratch, body_type, overflow)
    alone = next(file.id or "" for file in whole(scratch, log) if file.id != log)
    scratch.forget(alone, reason="alone")
    shown = numbers(scratch, log)
    assert 0 < len(shown) < COUNT
    scratch.forget(log)
    assert numbers(scratch, log) == shown
    scratch.restore(alone)
    assert numbers(scratch, log) == [*range(COUNT)]
    if body_type == "routine":
        assert scratch.routine(log).count("number") == COUNT


def numbers(scratch: ScratchLibrary, log: str) -> list[int]:
    """Returns which entries are recalled, in their order."""
    return [int(number) for number in re.findall(r"number (\d+)", scratch.recall(log).text)]


@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_a_purge_takes_all_parts_and_a_second_one_what_was_left(scratch: ScratchLibrary, overflow: str) -> None:
    log = filled(scratch, "text", overflow)
    files = whole(scratch, log)
    kept = scratch.path(files[1].id or "").read_bytes()
    change = scratch.purge(log)
    assert change.purge
    assert set(change.purge.files) == {file.id for file in files}
    assert not any(b"words" in path.read_bytes() for path in scratch.folder.path.glob("*.slice"))
    scratch.path(files[1].id or "").write_bytes(kept)  # as if the purge had been killed before this part
    scratch.purge(log)
    assert not any(b"words" in path.read_bytes() for path in scratch.folder.path.glob("*.slice"))


def test_a_purge_takes_what_killed_writers_left(scratch: ScratchLibrary) -> None:
    log = filled(scratch, "text", "archive")
    with pytest.raises(Killed), killed_at(1):
        scratch.forget(log)
    journal = scratch.workspace.journal.with_name(TEMPORARY)
    assert journal.exists()  # with the old bytes, in base64
    part = scratch.folder.path / f"{TEMPORARY}-{1 << 40}-1-0"
    part.write_bytes(scratch.path(log).read_bytes())
    change = scratch.purge(log)
    assert change.purge
    assert not change.purge.remnants
    assert not journal.exists()
    assert not part.exists()


def test_the_contract_of_the_whole_governs_its_parts(scratch: ScratchLibrary) -> None:
    log = filled(scratch, "jsonl", "split")
    part = whole(scratch, log)[-1].id or ""
    scratch.define(log, ["contract.overflow=archive"])
    assert [scratch.remember(log, f"more {number} {LONG}").overflow for number in range(COUNT)].count("archive")
    texts = [text for file in whole(scratch, log) for text in file.body.decode().splitlines()]
    assert [line.split('"text":"')[1].split()[1].rstrip(".") for line in texts] == [*map(str, range(COUNT))] * 2
    scratch.define(log, ["contract.write=supersede"])
    assert code_of(scratch.remember, log, f"number 3. {LONG}") == "topic-exists"
    scratch.define(log, ["contract.write=error"])
    assert code_of(scratch.remember, part, "x") == "write-mode"


def test_a_body_with_parts_is_not_replaced_in_one_of_them(scratch: ScratchLibrary) -> None:
    note = filled(scratch, "text", "split")
    scratch.define(note, ["contract.write=replace"])
    assert code_of(scratch.remember, note, "A summary.") == "write-mode"
    for part in whole(scratch, note)[1:]:
        scratch.forget(part.id or "")
    scratch.remember(note, "A summary.")
    assert scratch.body(note) == "A summary.\n"


def test_parts_of_parts_and_parts_of_each_other_come_to_an_end() -> None:
    def file(name: str, *links: Link) -> SliceFile:
        return new_file(id=name, title="T", summary="S.", body_type="text", links=links)

    chain = [file(f"{at:05}", Link("part_of", f"{at - 1:05}", "overflow")) for at in range(1, 1200)]
    assert [each.id for each in ordered(file("00000"), chain)] == [f"{at:05}" for at in range(1200)]
    one = file("a", Link("has_part", "b", "archive"), Link("part_of", "b", "overflow"))
    two = file("b", Link("has_part", "a", "overflow"), Link("part_of", "a", "archive"))
    assert [each.id for each in ordered(one, [two])] == ["b", "a"]


def test_a_call_and_its_result_in_another_part_belong_together(scratch: ScratchLibrary) -> None:
    log = scratch.new("conversation", "", "overflow=split")
    scratch.define(log, ["body.conversation={includes_tool_calls: true, participants: [user, tool_call, tool_result]}"])
    scratch.remember(log, f'{{"role": "user", "content": "{LONG * 4}"}}')
    scratch.remember(log, f'{{"role": "tool_call", "name": "{LONG}", "call_id": "c"}}')
    assert scratch.remember(log, f'{{"role": "tool_result", "content": "{LONG * 6}", "call_id": "c"}}').overflow
    scratch.remember(log, f'{{"role": "user", "content": "{LONG * 6}"}}')
    assert len(whole(scratch, log)) == 3
    report = validate([scratch.folder.path], scratch.workspace.root)
    assert not report.counts["error"] + report.counts["warning"], report.findings
    scratch.remember(log, '{"role": "tool_result", "content": "again", "call_id": "c"}')
    report = validate([scratch.folder.path], scratch.workspace.root)
    assert [finding.rule for finding in report.findings if finding.rule.startswith("call")] == ["call-pairs"]


# Hash and version of the whole


@pytest.fixture
def twin(tmp_path: Path) -> ScratchLibrary:
    """A library in which nothing overflows, with the same clock and the same random bytes."""
    return ScratchLibrary(tmp_path / "twin")


@pytest.mark.parametrize("overflow", ["split", "archive"])
@pytest.mark.parametrize("body_type", LINES)
def test_the_hash_of_a_file_with_parts_is_that_of_the_file_that_is_not_divided(
    scratch: ScratchLibrary, twin: ScratchLibrary, body_type: str, overflow: str
) -> None:
    """Ruling 24: neither a split nor an archive makes a derived file stale, and every entry does."""
    log, same = (each.new(body_type, "", f"overflow={overflow}") for each in (scratch, twin))
    derived, _ = scratch.new(links=(("derived_from", log),)), twin.new()
    for number in range(COUNT):
        for library, file_id in ((scratch, log), (twin, same)):
            library.remember(file_id, LINES[body_type].format(number, LONG))
        assert scratch.info(log).entry.hash == twin.file(same).hash
    assert len(whole(scratch, log)) > 2
    (found,) = [each for each in scratch.stale() if each.entry.id == derived]
    (due,) = [each for each in scratch.due() if each.id == derived]
    assert [why.kind for why in found.reasons] == [why.kind for why in due.reasons] == ["source-changed"]
    if overflow == "split":
        times = [scratch.info(file.id or "").entry.changed for file in whole(scratch, log)]
        assert found.reasons[0].since == max(times)
    report = validate([scratch.folder.path], scratch.workspace.root)
    assert [finding.rule for finding in report.findings] == ["derived-stale"]
    assert "has changed since" in scratch.recall(derived).text
    hash_now = scratch.info(log).entry.hash
    assert code_of(scratch.refresh, derived, "x", source_hash=scratch.file(log).hash) == "conflict"
    scratch.refresh(derived, "New.", source_hash=hash_now)
    other = scratch.new()
    scratch.connect(other, "derived_from", log)
    third = scratch.new(links=(("derived_from", log),))
    stated = [scratch.file(each).derived_from for each in (derived, other, third)]
    assert [each and each.hash for each in stated] == [hash_now] * 3
    assert not [each for each in scratch.stale() if each.entry.source]
    assert not validate([scratch.folder.path], scratch.workspace.root).findings
    scratch.remember(log, LINES[body_type].format(COUNT, "A new one."))
    assert len([each for each in scratch.stale() if each.entry.source]) == 3


def test_the_index_notices_when_a_part_changes_comes_or_goes(scratch: ScratchLibrary) -> None:
    log = filled(scratch, "text", "split")
    seen = [scratch.info(log).entry.hash]
    path = scratch.path(whole(scratch, log)[1].id or "")
    data = path.read_bytes()
    for content in (data + b"\nmore\n", data, None, b"broken", data):
        path.unlink() if content is None else path.write_bytes(content)
        seen.append(scratch.info(log).entry.hash)
        assert seen[-1] == Logs(scratch.folder).hash(scratch.folder.find(log))
    assert seen[0] == seen[2] == seen[5]
    assert len(set(seen)) == 3
    scratch.define(log, ["links="])
    assert scratch.info(log).entry.hash == scratch.file(log).hash


@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_a_write_is_based_on_the_version_of_the_whole_whichever_part_it_goes_to(
    scratch: ScratchLibrary, overflow: str
) -> None:
    log = scratch.new("jsonl", "", f"overflow={overflow}")
    version = scratch.info(log).version
    for number in range(COUNT):
        change = scratch.remember(log, f"number {number}. {LONG}", if_version=version)
        assert change.version == change.as_json()["version"] != version
        stale, version = version, change.version
        assert {scratch.info(file.id or "").version for file in whole(scratch, log)} == {version}
        assert code_of(scratch.remember, log, "too late", if_version=stale) == "conflict"
    part = whole(scratch, log)[0 if overflow == "archive" else -1].id or ""
    assert part != log
    change = scratch.define(part, ["meta.a=1"], if_version=version)
    assert code_of(scratch.define, log, ["meta.a=1"], if_version=version) == "conflict"
    version = scratch.define(log, ["meta.a=1"], if_version=change.version).version
    assert scratch.define(log, ["meta.a=1"]).version == version
    planned = scratch.forget(log, dry_run=True).version
    assert scratch.info(log).version == version
    assert scratch.forget(log).version != planned  # it has another time
    assert scratch.restore(log).version == version


# Sections


@pytest.mark.parametrize("overflow", ["split", "archive"])
def test_a_section_is_found_in_whichever_part_it_is(tmp_path: Path, overflow: str) -> None:
    scratch = ScratchLibrary(tmp_path / "larger", Settings(overflow_bytes=2500))
    note = scratch.new("markdown", "# Diary\n\nBefore.\n", f"overflow={overflow}")
    for number in range(30):
        scratch.remember(note, f"## Day {number}\n\n{LONG}\n\n### Evening\n\n{LONG}")
    assert len(whole(scratch, note)) > 2
    for number in range(0, 30, 3):
        for section in (f"Day {number}", f"diary/day-{number}/evening"):
            scratch.remember(note, f"More of {section}.", section=section)
    for file in whole(scratch, note):
        for found in sections(file.body.decode()):
            text = file.body.decode()[found.start : found.end]
            for word in re.findall(r"More of (.*)\.", text):
                assert found.slugs.removeprefix("diary/") in (word.removeprefix("diary/"), slug(word))
    text = scratch.recall(note).text
    assert text.count("More of ") == 20
    before = text.count("## Day")
    scratch.remember(note, "Once more.", section="Day 27")
    assert scratch.recall(note).text.count("## Day") == before  # its heading is not repeated in one file
    assert code_of(scratch.remember, note, "x", section="Evening") == "ambiguous-section"
    assert code_of(scratch.remember, note, "x", section="Night") == "no-section"
    part, *rest = sorted(whole(scratch, note), key=lambda file: file.id == note)
    day = next(day for day in re.findall(rb"Day \d+", part.body) if not any(day in file.body for file in rest))
    scratch.forget(part.id or "")
    assert code_of(scratch.remember, note, "x", section=day.decode()) == "no-section"


def test_a_write_that_archives_its_own_section_begins_it_again(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", f"# Diary\n\n## One\n\n{LONG * 3}\n\n## Two\n\n{LONG * 3}\n", "overflow=archive")
    change = scratch.remember(note, LONG * 2, section="One")
    assert change.overflow == "archive"
    archive, file = whole(scratch, note)
    assert "## One" in archive.body.decode()
    assert file.body.decode() == f"# Diary\n\n## Two\n\n{LONG * 3}\n\n## One\n\n{LONG * 2}\n"
    scratch.remember(note, "Again.", section="diary/one")
    assert scratch.body(note).endswith(f"{LONG * 2}\n\nAgain.\n")


def paths_of_words(text: str) -> dict[str, tuple[str, ...]]:
    """Returns the headings above each numbered word of a text."""
    starts = {found.line: found for found in sections(text) if found.level}
    above: list[tuple[int, str]] = []
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        if heading := starts.get(number):
            above = [*(each for each in above if each[0] < heading.level), (heading.level, heading.title)]
        found.update({word: tuple(title for _, title in above) for word in re.findall(r"word\d+", line)})
    return found


@pytest.mark.parametrize("overflow", ["split", "archive"])
@settings(max_examples=5 * MORE)
@given(
    st.sampled_from(["", "# Title\n\nIntro.\n"]),
    st.lists(
        st.tuples(st.sampled_from(["#", "##", "###", "at"]), st.sampled_from("ABC"), st.integers(5, 150)), max_size=14
    ),
)
def test_a_text_for_a_section_is_under_the_headings_that_it_has_in_an_undivided_file(
    tmp_path_factory: pytest.TempPathFactory, overflow: str, start: str, steps: list[tuple[str, str, int]]
) -> None:
    divided = ScratchLibrary(tmp_path_factory.mktemp("divided"), Settings(overflow_bytes=700))
    twin = ScratchLibrary(tmp_path_factory.mktemp("twin"))
    note, same = (each.new("markdown", start or "# A\n", f"overflow={overflow}") for each in (divided, twin))
    for number, (mark, title, size) in enumerate(steps):
        text = f"word{number} {'x' * size}"
        section = title if mark == "at" else None
        for library, file_id in ((divided, note), (twin, same)):
            with suppress(SlicebaseError):  # no such section, or several
                library.remember(file_id, text if section else f"{mark} {title}\n\n{text}", section=section)
        pieces = whole_pieces(divided.file(note), divided.folder.readable)
        found = paths_of_words(b"".join(piece.data for piece in pieces).decode())
        wanted = paths_of_words(twin.body(same))
        if section and f"word{number}" in wanted:
            assert found[f"word{number}"] == wanted[f"word{number}"]


@pytest.mark.parametrize(
    "body", ["# Project\n\n## Log", "# T\n\nAbout.\n\n## A\n\na\n\n## Log", "## Jan\n\n# 2026\n\n## Feb"]
)
def test_markdown_of_every_shape_is_archived_and_its_hash_stays(
    scratch: ScratchLibrary, twin: ScratchLibrary, body: str
) -> None:
    note, same = (each.new("markdown", body, "overflow=archive") for each in (scratch, twin))
    for number in range(COUNT):
        for library, file_id in ((scratch, note), (twin, same)):
            library.remember(file_id, f"number {number}. {LONG}")
        assert scratch.info(note).entry.hash == twin.file(same).hash
    assert len(whole(scratch, note)) > 2


def test_a_section_before_a_chapter_starts_again_before_it(scratch: ScratchLibrary) -> None:
    note = scratch.new("markdown", f"## Log\n\nfirst {LONG * 4}\n", "overflow=split")
    scratch.remember(note, f"# Appendix\n\nsecond {LONG * 4}")
    for text in ("for the log", "again"):
        scratch.remember(note, text, section="log")
    _, part = whole(scratch, note)
    assert part.body.decode().startswith("## Log\n\nfor the log\n\nagain\n\n# Appendix\n\nsecond")


# Parts that are missing


@pytest.mark.parametrize("body_type", LINES)
def test_a_missing_part_is_told_by_all_who_read(scratch: ScratchLibrary, body_type: str) -> None:
    log = filled(scratch, body_type, "split")
    part = whole(scratch, log)[1].id or ""
    scratch.path(part).unlink()
    assert f"a part that is missing · file:{part}" in scratch.recall(log).text
    if body_type == "routine":
        assert code_of(scratch.routine, log) == "no-file"
    (complaint,) = [each for each in examine(scratch.workspace, "driver") if each.check == "overflow"]
    assert (complaint.place, complaint.fix) == (f".slices/{log}.slice", None)
    scratch.disconnect(log, "has_part", part)
    assert "missing" not in scratch.recall(log).text
    assert not [each for each in examine(scratch.workspace, "driver") if each.check == "overflow"]
    if body_type == "routine":
        assert "number 0" in scratch.routine(log)


@pytest.mark.parametrize("body_type", LINES)
def test_a_part_that_cannot_be_read_or_was_purged_is_named(scratch: ScratchLibrary, body_type: str) -> None:
    log = filled(scratch, body_type, "split")
    one, other = (part.id or "" for part in whole(scratch, log)[1:3])
    scratch.path(one).write_bytes(b"<<<<<<< ours\n" + scratch.path(one).read_bytes())
    scratch.purge(other)
    text = scratch.recall(log).text
    assert f"a part that is unreadable · file:{one}" in text
    assert f"a part that is purged · file:{other}" in text
    if body_type == "routine":
        assert code_of(scratch.routine, log) == "no-file"
    assert code_of(scratch.define, log, ["body.type=yaml"]) == "edit-refused"


def test_every_part_that_routine_refuses_is_named_by_the_doctor_but_for_a_purged_one(scratch: ScratchLibrary) -> None:
    """The hint says what helps: nobody gets a purged part back."""
    steps = filled(scratch, "routine", "split")
    part = whole(scratch, steps)[1].id or ""
    path, data = scratch.path(part), scratch.path(part).read_bytes()

    def told() -> list[str]:
        """Returns the hints of both; the doctor's first."""
        found = [each.hint for each in examine(scratch.workspace, "driver") if each.check == "overflow"]
        with pytest.raises(SlicebaseError) as caught:
            scratch.routine(steps)
        return [*found, caught.value.hint or ""]

    give_up = f"give it up: `tt disconnect {steps} has_part {part}`"
    path.write_bytes(data.replace(b"type: routine", b"type: text"))
    assert told() == [f"make its body.type routine again, or {give_up}"] * 2
    path.write_bytes(b"<<<<<<< ours\n" + data)
    unreadable = told()
    path.unlink()
    path.mkdir()
    assert told() == unreadable == [f"repair the file, as `tt validate` says, or {give_up}"] * 2
    path.rmdir()
    assert told() == [f"get the file back, or {give_up}"] * 2
    path.write_bytes(data)
    scratch.purge(part)
    assert told() == [give_up]


# Archives stay where they were


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        (f"## A\n\nold {LONG}\n\n# B\n\nb\n", [("A", LONG)] * 9),
        (
            f"## Mon\n\nm0\n\n## Tue\n\nt0\n\n# Week 2\n\nw2\n\n## Mon\n\nm1 {LONG * 4}\n\n## Tue\n\nt1 {LONG}\n",
            [(None, LONG * 3), ("Week 2", LONG), ("Week 2", "x")],
        ),
    ],
)
def test_a_divided_text_is_the_undivided_one_wherever_somebody_writes(
    scratch: ScratchLibrary, twin: ScratchLibrary, body: str, steps: list[tuple[str | None, str]]
) -> None:
    note, same = (each.new("markdown", body, "overflow=archive") for each in (scratch, twin))
    for number, (section, text) in enumerate(steps):
        for library, file_id in ((scratch, note), (twin, same)):
            library.remember(file_id, f"n{number} {text}", section=section)
        pieces = whole_pieces(scratch.file(note), scratch.folder.readable)
        assert b"".join(piece.data for piece in pieces).decode() == twin.body(same)
    assert len(whole(scratch, note)) > 1
