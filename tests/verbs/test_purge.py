"""Purge: what is purged is nowhere left, what was made from it goes with it, and everything else stays provable."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase import Slicebase, SlicebaseError
from slicebase.context.manifest import manifest_bytes
from slicebase.graph.turn import Parent, Part, Session, Turn
from slicebase.history.inputs import LONG_SAMPLE
from slicebase.library.purge import PurgeReport
from tests.conversations import annotate, name
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


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    """A workspace in which a secret has spread: a title, a run, a snapshot, a narrative, quotes, contexts, indexes."""
    with Slicebase.init(tmp_path) as opened:
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


def test_a_short_text_is_taken_where_a_string_is_the_same_and_a_single_word_is_not(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        said = ["Ada is at 4711", "verified"]
        memory.truth.turns.add(Session("s", "test"), [say(text, text) for text in said], annotate)
        memory.runs.start("r", "Find it.", "Found.")
        for text in (*said, "Ada is at 4711, or not", " Ada is at 4711\n"):
            memory.runs.claim("r", text)
        memory.purge("session:s")
        statements = [claim["statement"] for claim in memory.truth.runs.state("r").claims.values()]
    assert [text.startswith("[purged ") for text in statements] == [True, False, False, True]


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
    assert planned == done._replace(remnants=(), beyond=())


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


@pytest.mark.parametrize("offset", [0, 5000, (4 << 20) - 20, (9 << 20) + 1])
def test_a_remnant_is_found_wherever_it_stands(memory: Slicebase, offset: int) -> None:
    """The search at the end is no formality: what another program left in the folder of Slicebase is reported."""
    left = memory.workspace.cache / "copy"
    left.write_bytes(b"\0" * offset + SECRET.encode() + b"\0")
    report = purge(memory, "session:s")
    assert set(report.remnants) == {(".slicebase/cache/copy", offset, len(SECRET))}


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
    memory.truth.database.connection.set_busy_timeout(50)
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


WORDS = st.sampled_from(
    [
        "alpha",
        "beta",
        "the quick brown fox jumps over the lazy dog",
        "\n",
        '"',
        "ß",
        "日本語のとても長い文章です",
        "0123456789",
    ]
)
TEXT = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


@given(
    purged=st.lists(TEXT, min_size=1, max_size=3), kept=st.lists(TEXT, max_size=3), claims=st.lists(TEXT, max_size=3)
)
def test_of_any_texts_nothing_is_left_but_what_survives_elsewhere(
    tmp_path_factory: pytest.TempPathFactory, purged: list[str], kept: list[str], claims: list[str]
) -> None:
    root = tmp_path_factory.mktemp("w")
    with Slicebase.init(root) as memory:
        memory.truth.turns.add(
            Session("s", "test", purged[0]), [say(f"p{n}", text) for n, text in enumerate(purged)], annotate
        )
        others = [say(f"k{n}", text, session="t") for n, text in enumerate(kept)]
        if others:
            memory.truth.turns.add(Session("t", "test"), others, annotate)
        memory.runs.start("own", f"Find {purged[-1]}", "It is known.")
        for text in filter(str.strip, (*claims, *purged)):
            memory.runs.claim("own", text)
        memory.runs.compact("own")
        assert memory.purge("session:s").remnants == ()
        memory.runs.claim("own", "It goes on.")
        memory.runs.compact("own")
        assert memory.verify().status == "VERIFIED"
        for number, text in enumerate(kept):
            assert memory.truth.text_of(memory.truth.turns.get(name(f"k{number}")).record) == text


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


def test_a_single_word_with_a_digit_goes_and_the_states_of_runs_stay(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("s", "test"), [say("a", "AApw-hunter2"), say("b", "candidate", "a")], annotate)
        memory.runs.start("own", "Find it.", "Found.")
        memory.runs.claim("own", "AApw-hunter2")
        memory.purge("session:s")
        memory.runs.compact("own")
        assert memory.verify().status == "VERIFIED"
    assert [path for path, data in raw(tmp_path) if b"AApw-hunter2" in data] == []


def test_other_worktrees_are_named(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    for command in (["init", "-q", str(main)], ["-C", str(main), "commit", "-q", "--allow-empty", "-m", "x"],
                    ["-C", str(main), "worktree", "add", "-q", str(other)]):  # fmt: skip
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *command], check=True)
    with Slicebase.init(main) as memory:
        memory.truth.turns.add(Session("s", "test"), [say("a", SECRET)], annotate)
        assert any(str(other) in place for place in memory.purge("session:s").beyond)


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
        said |= {"parser-2025", claim, "counted_events_since_last_compaction", context.manifest.as_of, "neighbourly/1"}
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
