"""Purge: what is purged is nowhere left, what was made from it goes with it, and everything else stays provable."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase import Slicebase, SlicebaseError
from slicebase.context.assemble import Context, assemble
from slicebase.context.manifest import manifest_bytes
from slicebase.core.refs import parse
from slicebase.graph.turn import Parent, Part, Session, Turn
from slicebase.history.inputs import LONG_SAMPLE
from slicebase.library.purge import Order, PurgeReport, Purging
from slicebase.verbs.purge import _session
from slicebase.workspace import atomic
from slicebase.workspace.atomic import locked
from tests.amounts import MORE
from tests.codes import code_of
from tests.conversations import annotate, name, on_file
from tests.verbs.test_verify import without_triggers

SECRET = "the customer Ada Example lives at Nowhere Street 4711 and her file is 0815"
OTHER = "an ordinary sentence about the weather in the mountains, long enough for a passage"


def say(of: str, text: str, *parents: str, session: str = "s", role: str = "user") -> Turn:
    above = tuple(Parent(name(parent)) for parent in parents)
    return Turn(name(of), session, role, (Part("text", text=text),), 0, above, f"sha256:{of}")  # type: ignore[arg-type]


def raw(root: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(root.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()


def holders(root: Path, text: str) -> list[str]:
    """Returns the files of a workspace that have the text, plain or as JSON writes it, in any part of 32 bytes."""
    forms = {text.encode(), json.dumps(text)[1:-1].encode(), json.dumps(text, ensure_ascii=False)[1:-1].encode()}
    windows = {form[at : at + 32] for form in forms for at in range(0, len(form) - 31, 4)}
    return [str(path.relative_to(root)) for path, data in raw(root) if any(window in data for window in windows)]


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which a secret has spread: a title, a run, a snapshot, a narrative, quotes, contexts, indexes."""
    folder = tmp_path_factory.mktemp("spread")
    with Slicebase.init(folder) as opened:
        turns = [
            say("a", f"Please note: {SECRET}."),
            say("b", f"I noted that {SECRET}.", "a", role="assistant"),
            say("c", OTHER, "b"),
        ]
        opened.truth.turns.add(
            Session("s", "test", f"About {SECRET}", {"summaries": [SECRET], "shown_last": name("c")}), turns, annotate
        )
        opened.truth.turns.add(Session("t", "test", "Weather"), [say("x", OTHER, session="t")], annotate)
        opened.runs.from_session("s")
        opened.runs.compact("from-s")
        opened.runs.narrative("from-s")
        opened.runs.start("own", "Find out where she lives.", "It is known.")
        opened.runs.claim("own", f"We know that {SECRET}.", cite=(f"turn:{name('a')}", SECRET))
        opened.runs.claim("own", OTHER, cite=(f"turn:{name('x')}", OTHER))
        opened.runs.compact("own")
        opened.runs.narrative("own")
        opened.context("Where does Ada Example live?")
        opened.context(f"Is it true that {SECRET}?")
    return folder


@pytest.fixture
def memory(tmp_path: Path, spread: Path) -> Iterator[Slicebase]:
    """A copy of the workspace in which a secret has spread."""
    shutil.copytree(spread, tmp_path, dirs_exist_ok=True)
    with Slicebase.open(tmp_path) as opened:
        yield opened


def purge(memory: Slicebase, reference: str) -> PurgeReport:
    report = memory.purge(reference, reason="asked to")
    memory.close()
    return report


def test_nothing_of_a_purged_session_is_left_in_any_file(memory: Slicebase) -> None:
    root = memory.root
    assert len(holders(root, SECRET)) >= 3
    report = purge(memory, "session:s")
    assert holders(root, SECRET) == []
    assert report.remnants == ()
    assert report.runs == ("from-s",)
    assert len(report.files) == 2, "both narratives"
    assert holders(root, OTHER), "what also stands in another session survives"


def test_a_workspace_is_verified_after_a_purge_and_says_what_was_purged(memory: Slicebase) -> None:
    purge(memory, "session:s")
    verdict = memory.verify()
    assert (verdict.status, verdict.exit) == ("VERIFIED", 0)
    assert "PURGED" in {finding.status for finding in verdict.findings}


def test_a_context_of_which_words_were_purged_keeps_its_id(memory: Slicebase) -> None:
    """Its id was made from what is left, and named nothing."""
    built = [memory.context(question).id for question in ("Where does Ada Example live?", f"Is it true that {SECRET}?")]
    purge(memory, "session:s")
    with Slicebase.open(memory.root) as opened:
        assert [opened.manifest(each).id for each in built] == built


def test_a_run_that_quoted_purged_text_goes_on(memory: Slicebase) -> None:
    """Ruling 46: only the strings that hold purged text become tombstones."""
    purge(memory, "session:s")
    statements = [claim["statement"] for claim in memory.truth.runs.state("own").claims.values()]
    assert statements[0].startswith("[purged ")
    assert statements[1] == OTHER
    memory.runs.claim("own", "She moved away.", cite=(f"turn:{name('x')}", "weather"))
    compacted = memory.runs.compact("own")
    assert len(compacted.snapshots) == 1
    assert memory.runs.narrative("own")
    assert memory.verify().status == "VERIFIED"


def test_a_purged_session_that_grows_does_not_bring_its_title_back(memory: Slicebase) -> None:
    purge(memory, "session:s")
    again = Session("s", "test", f"About {SECRET}", {"summaries": [SECRET], "shown_last": name("d")})
    memory.truth.turns.add(again, [say("a", f"Please note: {SECRET}."), say("d", "And now?", "c")], annotate)
    memory.truth.turns.add(again, [say("e", "Go on.", "d")], annotate)
    assert memory.truth.turns.session("s").title is None
    assert memory.truth.turns.session("s").facts["shown_last"] == name("d")
    memory.close()
    assert holders(memory.root, SECRET) == []
    assert memory.verify().status == "VERIFIED"


def test_a_purged_turn_takes_only_the_strings_of_its_projected_run(memory: Slicebase) -> None:
    report = purge(memory, f"turn:{name('a')}")
    assert report.runs == ()
    assert report.partly > 0
    assert memory.truth.runs.terms("from-s") is not None
    assert memory.verify().status == "VERIFIED"
    assert holders(memory.root, "Please note: the customer Ada Example lives") == []


def test_a_purged_session_takes_every_run_that_was_projected_from_it(memory: Slicebase) -> None:
    memory.runs.from_session("s", run_id="again")
    assert set(purge(memory, "session:s").runs) == {"again", "from-s"}
    for run in ("again", "from-s"):
        assert list(memory.truth.texts.of(f"run:{run}")) == []


def test_a_purged_turn_takes_the_turns_of_its_session_that_say_the_same(memory: Slicebase) -> None:
    memory.truth.turns.add(Session("s", "test"), [say("a2", f"Please note: {SECRET}.", "c")], annotate)
    cited = memory.cite(f"turn:{name('a2')}", quote="0815")
    assert purge(memory, f"turn:{name('a')}").turns == (name("a"), name("a2"))
    assert memory.truth.ledger[cited.id].quote is None


def test_short_texts_go_where_they_come_from_the_session_and_stay_in_runs_of_others(tmp_path: Path) -> None:
    """A fork begins with what the projected run knew. Another run may say the same by itself."""
    said = ["Go.", "AApw-hunter2", "Yes.\nBut  no.", "candidate"]
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("s", "test", "Go."), [say("0", said[0])], annotate)
        for number, text in enumerate(said[1:], 1):
            turn = say(str(number), text, str(number - 1), role="assistant" if number % 2 else "user")
            memory.truth.turns.add(Session("s", "test"), [turn], annotate)
        memory.runs.from_session("s")
        memory.runs.compact("from-s")
        memory.runs.fork("from-s", "forked")
        memory.runs.claim("forked", "Its own words.")
        memory.runs.compact("forked")
        memory.runs.start("own", "Go.", "candidate")
        memory.runs.claim("own", "AApw-hunter2")
        memory.runs.compact("own")
        before = dict(memory.truth.texts.of("run:own"))
        memory.purge("session:s")
        assert dict(memory.truth.texts.of("run:own")) == before
        forked = memory.truth.runs.state("forked")
        statements = [claim["statement"][:8] for claim in forked.claims.values()]
        assert statements == [*["[purged "] * 3, "Its own "]
        assert {claim["status"] for claim in forked.claims.values()} == {"candidate"}
        memory.runs.compact("forked")
        assert memory.verify().status == "VERIFIED"


def test_a_key_of_a_payload_that_repeats_the_text_is_taken(memory: Slicebase) -> None:
    memory.runs.log("own", [{"type": "note", "payload": {"by": {SECRET: 1, "other": 2}}}])
    purge(memory, "session:s")
    assert holders(memory.root, SECRET) == []
    assert memory.runs.events("own")[-1].payload["by"]["other"] == 2


def test_a_narrative_that_repeats_what_survives_elsewhere_stays(memory: Slicebase) -> None:
    memory.runs.start("weather", "Look outside.", "Seen.")
    memory.runs.claim("weather", OTHER)
    memory.runs.compact("weather")
    written = memory.root / ".slices" / f"{memory.runs.narrative('weather').file_id}.slice"
    text = written.read_text().replace(memory.runs.snapshot("weather")["snapshot_id"], f"sn_{'0' * 32}")
    written.write_text(text.replace(OTHER, OTHER[4:]))  # of another database, and not in the same words
    assert written.stem not in purge(memory, "session:s").files


def test_a_purged_run_leaves_the_conversation(memory: Slicebase) -> None:
    report = purge(memory, "run:own")
    assert report.runs == ("own",)
    assert len(report.files) == 1
    assert memory.truth.turn(name("a"))
    assert memory.verify().status == "VERIFIED"


@pytest.mark.parametrize("what", ["turn", "session"])
def test_a_purge_takes_quotes_that_are_too_short_to_be_looked_for(memory: Slicebase, what: str) -> None:
    cited = memory.cite(f"turn:{name('a')}", quote="0815")
    purge(memory, f"turn:{name('a')}" if what == "turn" else "session:s")
    assert memory.truth.ledger[cited.id].quote is None


def test_a_purge_names_what_it_cannot_reach(memory: Slicebase) -> None:
    memory.truth.turns.add(Session("s#agent-1", "test"), [say("sub", "Hello.", session="s#agent-1")], annotate)
    page = memory.library.create("Notes", "Notes of a talk.", body="Something else.")
    of_turn, of_run = (memory.purge(each).beyond for each in (f"turn:{name('a')}", "run:own"))
    of_session, of_file = memory.purge("session:s").beyond, memory.library.purge(page.id).purge
    assert of_file is not None
    imported = [any("imported from" in each for each in found) for found in (of_turn, of_run, of_session)]
    assert imported == [True, True, True]
    assert not any("imported from" in each for each in of_file.beyond)
    assert [any("session:s#agent-1" in each for each in found) for found in (of_turn, of_session)] == [False, True]
    for found in (of_turn, of_run, of_session, of_file.beyond):
        assert any("copies" in each for each in found)
        assert not any("git" in each for each in found), "the workspace is in no repository"


def test_a_narrative_goes_with_its_run_though_it_repeats_no_passage(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        for run, said in (("one", "So it is."), ("two", "It is not.")):
            memory.runs.start(run, f"Go {run}.", "Gone.")
            memory.runs.claim(run, said)
            memory.runs.compact(run)
        taken, other = (memory.runs.narrative(run).file_id for run in ("one", "two"))
        assert memory.purge("run:one").files == (taken,)
        assert memory.library.recall(f"file:{other}").text


def test_a_narrative_from_before_a_run_repeated_the_text_stays(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("s", "test"), [say("a", SECRET)], annotate)
        memory.runs.start("r", "Find it.", "Found.")
        memory.runs.claim("r", "Nothing is known.")
        memory.runs.compact("r")
        memory.runs.narrative("r")
        memory.runs.claim("r", f"We know that {SECRET}.")
        report = memory.purge("session:s")
        assert (report.files, report.partly) == ((), 2)


def test_a_narrative_from_after_a_run_took_the_text_back_stays(tmp_path: Path) -> None:
    """A complete snapshot owes nothing to the additions before it."""
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("s", "test"), [say("a", SECRET)], annotate)
        memory.runs.start("r", "Find it.", "Found.")
        for statement in (f"We know that {SECRET}.", *(f"Nothing is known, as of day {day}." for day in range(9))):
            memory.runs.claim("r", statement, id="c")
            memory.runs.compact("r")
        records = list(memory.truth.runs.snapshots.records("r"))
        assert [record.sequence for record in records if record.weight == 0][-1] > 1
        assert memory.runs.narrative("r").file_id
        assert memory.purge("session:s").files == ()
        assert memory.verify().status == "VERIFIED"


def test_a_narrative_of_another_database_is_taken_only_for_what_it_repeats(memory: Slicebase, tmp_path: Path) -> None:
    narratives = {run: memory.runs.narrative(run).file_id or "" for run in ("from-s", "own")}
    with Slicebase.init(tmp_path / "colleague") as other:
        for name_of_file in narratives.values():
            shutil.copy(memory.root / ".slices" / f"{name_of_file}.slice", other.root / ".slices")
        other.truth.turns.add(Session("u", "test"), [say("u", SECRET, session="u")], annotate)
        other.truth.turns.add(Session("v", "test"), [say("v", "Nothing of all that was ever said here.")], annotate)
        assert other.purge("session:v").files == ()
        assert other.purge("session:u").files == tuple(sorted(narratives.values()))


def test_a_dry_run_says_what_a_purge_takes_and_changes_nothing(memory: Slicebase) -> None:
    memory.close()
    before = dict(raw(memory.root))
    planned = memory.purge("session:s", dry_run=True)
    memory.close()
    assert dict(raw(memory.root)) == before
    done = purge(memory, "session:s")
    assert planned == done._replace(remnants=())


def test_a_purge_can_be_repeated(memory: Slicebase) -> None:
    purge(memory, "session:s")
    again = purge(memory, "session:s")
    assert again.texts == 0
    assert memory.verify().status == "VERIFIED"


def test_a_slice_file_that_says_the_same_is_named_and_left(memory: Slicebase) -> None:
    page = memory.library.create("Notes", "Notes of a talk.", body=f"She said: {SECRET}.\n")
    memory.runs.claim("own", f"Known: {SECRET}!")
    report = purge(memory, "session:s")
    assert report.shared == (f"file:{page.id}",)
    statements = [claim["statement"] for claim in memory.truth.runs.state("own").claims.values()]
    assert statements[0].startswith("[purged "), "more of it was in the session than in the file"
    assert statements[-1] == f"Known: {SECRET}!", "what also stands in a file survives"
    assert memory.library.purge(page.id).purge is not None
    memory.close()
    assert holders(memory.root, SECRET) == []


def test_a_purged_file_takes_its_quotes_and_the_strings_that_repeat_it(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        page = memory.library.create("Notes", "Notes of a talk.", body=f"# Talk\n\nShe said: {SECRET}.\n")
        memory.context("Where does Ada Example live?")
        memory.runs.start("own", "Find out.", "It is known.")
        memory.runs.claim("own", f"We know that {SECRET}.")
        memory.runs.compact("own")
        change = memory.library.purge(page.id, reason="asked to")
    assert change.purge is not None
    assert change.purge.remnants == ()
    assert holders(tmp_path, SECRET) == []
    with Slicebase.open(tmp_path) as memory:
        assert memory.verify().status == "VERIFIED"


def test_a_quote_from_a_file_that_has_changed_since_is_taken_too(memory: Slicebase) -> None:
    page = memory.library.create("Notes", "Notes of a talk.", body=f"# Talk\n\nShe said: {SECRET}.\n")
    path = memory.root / ".slices" / f"{page.id}.slice"
    cited = memory.cite(f"file:{page.id}", quote=f"said: {SECRET}")
    path.write_text(path.read_text().replace(SECRET, "nothing"))
    purge(memory, "session:s")
    assert memory.truth.ledger[cited.id].quote is None
    assert holders(memory.root, SECRET) == []


def test_a_tombstone_made_by_hand_is_broken(memory: Slicebase) -> None:
    memory.close()
    connection = apsw.Connection(str(memory.workspace.database))
    connection.execute("UPDATE texts SET bytes = NULL, purged = '2026-01-01T00:00:00.000Z' WHERE owner = 'session:t'")
    connection.close()
    assert "tombstone" in [finding.check for finding in memory.verify().findings if finding.status == "BROKEN"]


def test_a_purged_text_that_was_put_back_is_broken(memory: Slicebase) -> None:
    text_hash = memory.truth.turns.get(name("a")).record.content_hash.removeprefix("sha256:")
    kept = memory.truth.database.connection.execute(f"SELECT bytes FROM texts WHERE hash = x'{text_hash}'").get
    purge(memory, "session:s")
    with without_triggers(memory.workspace.database) as connection:
        connection.execute(f"UPDATE texts SET bytes = ?, purged = NULL WHERE hash = x'{text_hash}'", (kept,))
    assert [each.check for each in memory.verify().findings if each.status == "BROKEN"] == ["tombstone"]


@pytest.mark.parametrize("offset", [0, 5000, (1 << 14) - 100, (4 << 14) - 100, (4 << 14) - 20, (9 << 14) + 1])
def test_a_remnant_is_found_wherever_it_stands(memory: Slicebase, offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search at the end is no formality: what another program left in the folder of Slicebase is reported."""
    monkeypatch.setattr(atomic, "_CHUNK", 1 << 14)
    left = memory.workspace.cache / "copy"
    left.write_bytes(b"\0" * offset + SECRET.encode() + b"\0" * 200)
    report = purge(memory, "session:s")
    assert list(report.remnants) == [(".slicebase/cache/copy", offset, len(SECRET))]


def test_remnants_that_are_apart_are_reported_apart(memory: Slicebase) -> None:
    left = memory.workspace.cache / "copy"
    left.write_bytes(SECRET.encode() + b"\0" * 100 + SECRET.encode())
    report = purge(memory, "session:s")
    places = [(".slicebase/cache/copy", at, len(SECRET)) for at in (0, len(SECRET) + 100)]
    assert list(report.remnants) == places


def test_an_index_that_still_holds_something_is_deleted(memory: Slicebase) -> None:
    memory.close()
    connection = apsw.Connection(str(memory.workspace.turns))
    connection.execute("CREATE TABLE forgotten (text)")
    connection.execute("INSERT INTO forgotten VALUES (?)", (SECRET,))
    connection.close()
    assert purge(memory, "session:s").remnants == ()
    assert holders(memory.root, SECRET) == []
    assert memory.context("the weather in the mountains").pieces, "it is built again"


def test_a_text_that_is_purged_in_part_and_then_completely_is_verified(memory: Slicebase) -> None:
    assert purge(memory, f"turn:{name('a')}").partly > 0
    assert purge(memory, "run:own").texts > 0
    assert memory.verify().status == "VERIFIED"


def test_a_purge_removes_the_states_of_transcripts(memory: Slicebase) -> None:
    memory.workspace.transcripts.mkdir(parents=True)
    (memory.workspace.transcripts / "state").write_text(SECRET)
    assert purge(memory, "session:s").remnants == ()
    assert list(memory.workspace.transcripts.iterdir()) == []


def test_a_purge_behind_a_reader_says_what_is_still_there_and_is_finished_by_repeating_it(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.truth.database.wait(50)
    reader = apsw.Connection(str(memory.workspace.database))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM texts").fetchall()
    with pytest.raises(SlicebaseError) as caught:
        memory.purge("session:s")
    assert (caught.value.code, "it is purged" in caught.value.message) == ("locked", True)
    reader.execute("ROLLBACK")
    reader.close()
    purge(memory, "session:s")
    assert holders(memory.root, SECRET) == []


WORDS = st.sampled_from([
    "alpha", "beta", "the quick brown fox jumps over the lazy dog", "\n", '"', "ß", "日本語のとても長い文章です",
    "0123456789", "https://example.com/patients/jane-doe-born-1980", "  ",
])  # fmt: skip
TEXT = st.tuples(st.lists(WORDS, min_size=1, max_size=12), st.sampled_from(["", " "])).map(
    lambda drawn: drawn[1].join(drawn[0])
)
FIELDS = st.sampled_from(["text", "name", "reason", "status", "category", "hash", "ref", "filters", "by"])


def forms(texts: list[str]) -> set[bytes]:
    long = [text for text in texts if len(text.encode()) >= 32]
    return {form for text in long for form in (text.encode(), json.dumps(text, ensure_ascii=False)[1:-1].encode())}


def passages(texts: list[str]) -> set[bytes]:
    return {form[at : at + 32] for form in forms(texts) for at in range(len(form) - 31)}


@settings(max_examples=6 * MORE)
@given(
    purged=st.lists(TEXT, min_size=1, max_size=3),
    kept=st.lists(TEXT, max_size=2),
    logged=st.lists(st.tuples(FIELDS, TEXT), max_size=3),
)
def test_of_any_texts_nothing_is_left_but_what_survives_by_right_and_unrelated_runs_stay(
    tmp_path_factory: pytest.TempPathFactory, purged: list[str], kept: list[str], logged: list[tuple[str, str]]
) -> None:
    root = tmp_path_factory.mktemp("w")
    unrelated = [text for text in kept if not passages([text]) & passages(purged)]
    with Slicebase.init(root) as memory:
        turns = [say(f"p{n}", text) for n, text in enumerate(purged)]
        memory.truth.turns.add(Session("s", "test", purged[0]), turns, annotate)
        others = [say(f"k{n}", text, session="t") for n, text in enumerate(kept)]
        if others:
            memory.truth.turns.add(Session("t", "test"), others, annotate)
        memory.runs.start("other", "Go on.", "Gone.")
        for run, said in (("own", [*kept, *purged]), ("other", unrelated)):
            if run == "own":
                memory.runs.start(run, f"Find {purged[-1]}", "It is known.")
            for field, text in [*logged, ("by", purged[0])] if run == "own" else []:
                memory.runs.log(run, [{"type": "note", "payload": {field: text, "of": {text + purged[0]: [text]}}}])
            for text in said:
                memory.runs.claim(run, text if text.strip() else "None.")
            memory.runs.compact(run)
            memory.runs.narrative(run)
        before = dict(memory.truth.texts.of("run:other"))
        assert memory.purge("session:s").remnants == ()
        assert dict(memory.truth.texts.of("run:other")) == before
        memory.runs.claim("own", "It goes on.")
        memory.runs.compact("own")
        assert memory.verify().status == "VERIFIED"
        for number, text in enumerate(kept):
            assert memory.truth.text_of(memory.truth.turns.get(name(f"k{number}")).record) == text
    # Around a text that survives stand quotes, spaces and line ends, which may also stand around a purged one.
    gone = [each for each in passages(purged) if not any(each.strip(b' "\\n') in form for form in forms(kept))]
    assert [path for path, data in raw(root) if any(window in data for window in gone)] == []


def test_of_a_real_conversation_nothing_is_left_although_it_names_its_own_turns(tmp_path: Path) -> None:
    """Names say nothing: the ids of turns and sessions stand in records, too."""
    with Slicebase.init(tmp_path) as memory:
        memory.import_(LONG_SAMPLE)
        ((session, _),) = memory.truth.turns.sessions()
        memory.runs.from_session(session.id, compact=True)
        memory.runs.compact(f"from-{session.id}")
        memory.runs.narrative(f"from-{session.id}")
        memory.context("how are discount codes compared?")
        memory.runs.start("own", f"See session:{session.id} of the shop.", "Seen.")
        report = memory.purge(f"session:{session.id}")
        assert report.remnants == ()
        terms = memory.truth.runs.terms("own")
        assert terms is not None
        assert terms.objective == f"See session:{session.id} of the shop."
        assert memory.verify().status == "VERIFIED"


def test_what_two_conversations_share_is_neither_replaced_nor_reported(tmp_path: Path) -> None:
    paths = "".join(f"/home/ada/shop/src/module_{number % 9}/file_{number:03}.py\n" for number in range(120))
    with Slicebase.init(tmp_path) as memory:
        for session in ("s", "t"):
            turns = [
                say(f"{session}1", f"Look at these files, {session}:\n{paths}", session=session),
                say(f"{session}2", "No files found", f"{session}1", session=session, role="assistant"),
                say(f"{session}3", "-" * 9000 + "pad " * 900, f"{session}2", session=session),
            ]
            memory.truth.turns.add(Session(session, "test", f"Session {session}"), turns, annotate)
            memory.runs.from_session(session)
            memory.runs.compact(f"from-{session}")
            memory.runs.narrative(f"from-{session}")
        before = dict(memory.truth.texts.of("run:from-t"))
        report = memory.purge("session:s")
        assert (report.remnants, len(report.files)) == ((), 1)
        assert dict(memory.truth.texts.of("run:from-t")) == before
        assert memory.verify().status == "VERIFIED"


def test_contexts_keep_nothing_of_the_narrative_of_a_purged_run(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start("own", "Find the alpha thing.", "The alpha thing is found.")
        memory.runs.claim("own", "Alpha is so.")
        memory.runs.compact("own")
        memory.runs.narrative("own")
        assert memory.context("alpha thing").pieces
        memory.purge("run:own")
    left = [str(path) for path, data in raw(tmp_path) if b"Alpha is so." in data or b"Find the alpha thing" in data]
    assert left == []


def test_a_title_that_repeats_a_purged_turn_goes_with_it_and_does_not_come_back(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("s", "test", SECRET), [say("a", SECRET), say("b", OTHER, "a")], annotate)
        memory.purge(f"turn:{name('a')}")
        memory.truth.turns.add(Session("s", "test", SECRET), [say("c", "Go on.", "b")], annotate)
        assert SECRET not in (memory.truth.turns.session("s").title or "")
        assert memory.verify().status == "VERIFIED"
    assert holders(tmp_path, SECRET) == []


def test_what_a_purge_does_not_reach_in_another_worktree_is_named_and_taken_there(tmp_path: Path) -> None:
    """The texts are gone, and cannot be looked for: what was made from them goes by provenance."""
    main, other = tmp_path / "main", tmp_path / "other"
    for command in (["init", "-q", str(main)], ["-C", str(main), "commit", "-q", "--allow-empty", "-m", "x"],
                    ["-C", str(main), "worktree", "add", "-q", str(other)]):  # fmt: skip
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *command], check=True)
    with Slicebase.init(main) as memory, Slicebase.init(other) as there:
        memory.truth.turns.add(Session("s", "test"), [say("a", SECRET)], annotate)
        there.runs.start("own", "Find out.", "Known.")
        there.runs.claim("own", f"We know that {SECRET}.")
        there.runs.compact("own")
        there.runs.narrative("own")
        there.context("Where does Ada Example live?")
        assert any(str(other) in place for place in memory.purge("session:s").beyond)
        again = there.purge("session:s", dry_run=True)
        assert len(again.files) == 1
        assert any("no longer" in place for place in again.beyond)
        assert {each.check for each in there.doctor()[0]} == {"merge-driver", "purged"}
        there.doctor(fix=True)
        assert there.runs.narrative("own").is_new, "it is written again from what is left"
        assert {each.check for each in there.doctor()[0]} == set()
        assert there.purge("session:s").files == ()
    assert holders(tmp_path, SECRET) == []


def test_ids_times_and_names_of_other_runs_and_contexts_are_never_replaced(tmp_path: Path) -> None:
    """Whatever a purged conversation says: the run that it names goes on."""
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("u", "test"), [say("x", OTHER, session="u")], annotate)
        memory.runs.start("parser-2025", "Find it.", "Found.")
        claim = memory.runs.claim("parser-2025", "It is there.", cite=(f"turn:{name('x')}", "weather")).id
        memory.runs.compact("parser-2025")
        memory.runs.narrative("parser-2025")
        context = memory.context("the weather in the mountains")
        snapshot = memory.truth.runs.latest("parser-2025")
        assert snapshot is not None
        said = {*_all_strings(snapshot.snapshot), *_all_strings(json.loads(manifest_bytes(context.manifest)))}
        said |= {"parser-2025", claim, "counted_events_since_last_compaction", context.manifest.as_of, "neighbourly/5"}
        said -= {"Find it.", "Found.", "It is there.", "the weather in the mountains", OTHER}
        said -= {text for piece in context.manifest.pieces for text in (piece.label, piece.group)}
        turns = [say(f"t{number}", text) for number, text in enumerate(sorted(said))]
        memory.truth.turns.add(Session("s", "test"), turns, annotate)
        memory.purge("session:s")
        memory.runs.claim("parser-2025", "It is still there.")
        assert memory.runs.compact("parser-2025").snapshots
        assert memory.runs.narrative("parser-2025")
        replayed = memory.replay(context.id)
        assert replayed.identical
        assert memory.verify().status == "VERIFIED"


def _all_strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *_all_strings(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _all_strings(inner)


def test_a_key_that_looks_like_an_id_goes_like_any_text(tmp_path: Path) -> None:
    key = "4f" * 32
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("s", "test"), [say("a", f"Key {key} is set.")], annotate)
        memory.runs.start("own", f"Use {key} now.", "Done.")
        memory.purge("session:s")
    assert [path for path, data in raw(tmp_path) if key.encode() in data] == []


def test_a_purged_payload_is_looked_for_in_runs(tmp_path: Path) -> None:
    (tmp_path / "d.md").write_text(f"# Paper\n\n{SECRET}.\n")
    with Slicebase.init(tmp_path / "w") as memory:
        document = memory.add(tmp_path / "d.md", copy=True)
        memory.runs.start("own", f"We know that {SECRET}.", "Done.")
        memory.runs.compact("own")
        memory.runs.narrative("own")
        memory.library.purge(document.file.id or "")
    assert holders(tmp_path / "w", SECRET) == []


# What goes by provenance


LINES = "Jane Doe, ward 7\nborn 3 May 1980\nhas lung cancer\ndo not tell Bob"  # no line is as long as a passage


@pytest.mark.parametrize("what", ["session:s", f"turn:{name('a')}"])
def test_a_narrative_and_contexts_go_with_a_snapshot_though_they_share_no_passage(tmp_path: Path, what: str) -> None:
    with Slicebase.init(tmp_path) as memory:
        turns = [say("a", LINES), say("b", OTHER, "a", role="assistant")]
        memory.truth.turns.add(Session("s", "test", " ".join(LINES.split())[:45] + "…"), turns, annotate)
        memory.runs.from_session("s")
        memory.runs.compact("from-s")
        memory.runs.fork("from-s", "forked")
        memory.runs.start("hand", f"Fix it:\n{LINES}", "Fixed.")
        for run in ("forked", "hand"):
            memory.runs.compact(run)
            memory.runs.narrative(run)
            memory.context("ward", run=run)
        assert len(memory.purge(what).files) == 2
        assert all(memory.runs.narrative(run).is_new for run in ("forked", "hand"))
        assert memory.verify().status == "VERIFIED"
    assert [path for path, data in raw(tmp_path) if b"lung cancer" in data] == []


def test_a_copy_of_a_purged_session_in_the_library_goes_and_excuses_nothing(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("s", "test"), [say("a", SECRET), say("b", OTHER, "a")], annotate)
        memory.export("s", tmp_path / ".slices" / "copy.slice")
        memory.runs.start("own", f"We know that {SECRET}.", "Done.")
        of_turn = memory.purge(f"turn:{name('a')}")
        assert [each.file for each in of_turn.remnants] == [".slices/copy.slice"], "it has more than this turn"
        assert len(memory.purge("session:s").files) == 1
        assert memory.verify().status == "VERIFIED"
    assert holders(tmp_path, SECRET) == []


def test_a_purged_turn_takes_the_events_that_were_made_from_it_whatever_their_length(tmp_path: Path) -> None:
    call = Part("tool_call", name="Login", arguments={"pin": "47 11"}, call_id="1")
    result = Part("tool_result", text="refused", call_id="1", error=True)
    turns = [
        say("a", "Log in."),
        Turn(name("b"), "s", "assistant", (call,), 0, (Parent(name("a")),), "sha256:b"),
        Turn(name("c"), "s", "tool", (result,), 0, (Parent(name("b")),), "sha256:c"),
        say("d", "No.", "c", role="assistant"),
    ]
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("s", "test"), turns, annotate)
        memory.runs.from_session("s")
        memory.runs.compact("from-s")
        for turn in ("b", "d"):
            memory.purge(f"turn:{name(turn)}")
        events = memory.runs.events("from-s")
        assert [event.payload["text"] for event in events if event.type == "OBSERVE_DONE"] == ["refused"]
        assert {event.payload["tool"] for event in events if "tool" in event.payload} == {"Login"}
        assert memory.verify().status == "VERIFIED"
    left = [path for path, data in raw(tmp_path) if b"47 11" in data or b'"No."' in data]
    assert left == []


def test_a_purged_run_leaves_another_run_of_the_same_conversation_as_it_is(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        long = " ".join(f"{OTHER} {number}" for number in range(20))
        turns = [say("a", long), say("b", long[::-1], "a", role="assistant")]
        memory.truth.turns.add(Session("s", "test"), turns, annotate)
        for run in ("one", "two"):
            memory.runs.from_session("s", run)
            memory.runs.compact(run)
        memory.runs.narrative("two")
        before = dict(memory.truth.texts.of("run:two"))
        report = memory.purge("run:one")
        assert (report.files, report.changed, report.remnants) == ((), (), ())
        assert dict(memory.truth.texts.of("run:two")) == before


def test_all_of_a_purged_file_is_looked_for_but_its_title(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        page = memory.library.create("A title that is long enough for a passage", "Notes.", body="Nothing.")
        memory.library.define(page.id, f"note={SECRET}")
        memory.runs.start("own", f"We know that {SECRET}.", "A title that is long enough for a passage")
        memory.library.purge(page.id)
        terms = memory.truth.runs.terms("own")
        assert terms is not None
        assert terms.done_definition == "A title that is long enough for a passage"
    assert holders(tmp_path, SECRET) == []


def test_a_purged_session_goes_on_as_another_run(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        for turns in ([say("a", SECRET)], [say("b", OTHER, "a")], [say("c", "Well?", "b")]):
            memory.truth.turns.add(Session("s", "test", None, {"shown_last": turns[0].id}), turns, annotate)
            narrative = memory.narrate_session("s")
            if turns[0].id == name("a"):
                memory.purge("session:s")
        assert OTHER in narrative.text
        assert len(memory.runs.list_runs()) == 2, "the second one goes on, too"
        assert memory.verify().status == "VERIFIED"
    assert holders(tmp_path, SECRET) == []


# Others who write meanwhile


def test_what_others_write_while_a_purge_is_planned_is_taken_too(memory: Slicebase) -> None:
    """Two plans are of a state that is gone; the last one is made while nobody else can write."""
    tries: list[Order] = []
    locks: list[bool] = []
    purging = Purging(memory.workspace, memory.folder, memory.truth, memory.library.stamp(), None)

    def make() -> Order:
        order = _session(memory.truth, parse("session:s"))
        tries.append(order)
        locks.append(on_file(memory.truth).connection.txn_state() == apsw.SQLITE_TXN_WRITE)
        with Slicebase.open(memory.root) as other:
            if len(tries) == 1:
                other.runs.claim("own", f"Also, {SECRET}.")
                other.runs.compact("own")
                other.runs.narrative("own")
            elif len(tries) == 2:
                other.library.create("Notes", "Notes of a talk.", body=OTHER)
        return order

    report = purging.carry_out(make)
    assert (len(tries), report.remnants) == (3, ())
    assert locks == [False, False, True]
    memory.close()
    assert holders(memory.root, SECRET) == []


def test_what_was_read_before_a_purge_is_not_written_after_it(memory: Slicebase) -> None:
    with Slicebase.open(memory.root) as other:
        other.runs.compact("own")
        acts = other.truth.runs.log.acts()
        memory.purge("session:s")
        with pytest.raises(SlicebaseError) as caught:
            list(other.truth.runs.unpurged("s", acts, []))
        assert caught.value.code == "conflict"
        assert list(other.truth.runs.unpurged("t", acts, [])) == []
        other.runs.fork("own", "forked")
        other.runs.claim("own", "It goes on.")
        other.runs.compact("own")
        other.runs.narrative("own")
        assert other.verify().status == "VERIFIED"
    memory.close()
    assert holders(memory.root, SECRET) == []


def test_there_is_one_purge_at_a_time(memory: Slicebase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slicebase.library.purge._PATIENCE", 0.01)
    with locked(memory.workspace.purge_lock), pytest.raises(SlicebaseError) as caught:
        memory.purge("session:s")
    assert caught.value.code == "locked"
    assert memory.truth.text_of(memory.truth.turns.get(name("a")).record)


def test_beyond_a_size_the_rest_is_deleted_and_not_looked_for_and_that_is_said(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slicebase.truth.erasure.LARGEST_SEARCH", 10)
    report = purge(memory, "session:s")
    assert any("MiB" in place for place in report.beyond)
    assert memory.truth.turns.session("s").title is None


@pytest.mark.parametrize("what", [f"turn:{name('a')}", "session:s", "run:own", "file"])
def test_a_context_that_was_built_before_a_purge_is_not_recorded_after_it(memory: Slicebase, what: str) -> None:
    page = memory.library.create("A page", "For the context.", body=f"# Her place\n\nOn this page, {SECRET}.\n").file.id
    built = memory.context("Where does Ada Example live?", record=False, run="own")
    assert {piece.corpus for piece in built.manifest.pieces} >= {"session:s", "run:own", f"file:{page}"}
    if what == "file":
        memory.library.purge(page or "")
    else:
        memory.purge(what)
    before = memory.truth.manifests.names()
    with pytest.raises(SlicebaseError, match="was purged after the context was built") as raised:
        memory.record(built)
    assert raised.value.code == "conflict"
    assert memory.truth.manifests.names() == before
    again = memory.context("Where does Ada Example live?", run="own" if what != "run:own" else None)
    assert again.recorded, "what is left can be recorded"


def test_a_context_is_built_again_if_a_purge_comes_before_its_record(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [f"turn:{name('a')}", f"turn:{name('b')}"]

    def assembled_and_purged(*args: Any, **keywords: Any) -> Context:
        made = assemble(*args, **keywords)
        if turns:
            memory.purge(turns.pop())
        return made

    monkeypatch.setattr("slicebase.verbs.contexts.assemble", assembled_and_purged)
    built = memory.context("Where does Ada Example live?")
    assert built.recorded
    assert not turns
    assert not any(SECRET in piece.text for piece in built.pieces)
    memory.close()
    assert holders(memory.root, SECRET) == []


def test_a_context_is_recorded_after_a_purge_of_something_else(memory: Slicebase) -> None:
    memory.truth.turns.add(Session("u", "test"), [say("u", "Nobody asks for this.", session="u")], annotate)
    built = memory.context("How is the weather in the mountains?", record=False)
    memory.purge("session:u")
    assert memory.record(built).recorded


@pytest.mark.parametrize("reason", [f"It says that {SECRET}", "Short one."])
def test_a_reason_that_repeats_what_is_purged_is_refused(memory: Slicebase, reason: str) -> None:
    memory.truth.turns.add(Session("u", "test"), [say("u", f"{SECRET}, again", session="u")], annotate)
    memory.truth.turns.add(Session("u", "test"), [say("v", "Short one.", "u", session="u")], annotate)
    memory.purge("session:s")
    for dry_run in (True, False):
        with pytest.raises(SlicebaseError) as raised:
            memory.purge("session:u", reason=reason, dry_run=dry_run)
        assert raised.value.code == "usage"
    assert memory.purge("session:u", reason="Ada asked for it.").turns


def test_an_item_that_was_purged_is_not_accepted_to_be_stored_as_purged(memory: Slicebase) -> None:
    """What is acknowledged is in the state, in its own words, and under the id that the call returns."""
    a, b = (memory.cite(f"turn:{name('c')}", quote) for quote in ("an ordinary sentence", "the mountains"))
    verbs: dict[str, Callable[[], object]] = {
        "claim": lambda: memory.runs.claim("own", f"So: {SECRET}", id="k"),
        "failure": lambda: memory.runs.failure("own", "why", id=f"id {SECRET}"),
        "conflict": lambda: memory.runs.conflict("own", f"So: {SECRET}", id="x", a=a, b=b),
        "question": lambda: memory.runs.question("own", f"Is it so: {SECRET}?"),
        "stream": lambda: memory.runs.log(
            "own", [{"type": "CLAIM", "payload": {"claim_id": SECRET, "statement": "."}}]
        ),
    }
    for verb in verbs.values():
        verb()
    memory.purge("session:s")
    events = memory.runs.status("own").events
    assert {code_of(verb) for verb in verbs.values()} == {"purged"}
    with pytest.raises(SlicebaseError) as caught:
        verbs["question"]()
    assert caught.value.hint == "choose other words"  # a question has no id
    assert memory.runs.status("own").events == events
    again = memory.runs.claim("own", f"So: {SECRET}")
    assert memory.truth.runs.state("own").claims[again.id]["statement"] == f"So: {SECRET}"
    assert memory.verify().status == "VERIFIED"
