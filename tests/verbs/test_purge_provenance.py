"""Purge follows provenance: what was made from a purged text goes with it, however short it is."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase import Slicebase
from slicebase.core.hashing import digest
from slicebase.files.body.rows import Provenance
from slicebase.files.body.sections import section_ref, sections
from slicebase.graph.turn import Parent, Part, Session, Turn
from tests.amounts import MORE
from tests.conversations import annotate, name
from tests.verbs.test_purge import holders, raw

Said = tuple[str, tuple[Part, ...]]  # a role, and what is said


def text(words: str) -> Part:
    return Part("text", text=words)


def conversation(*said: Said) -> list[Turn]:
    """Returns turns, each the answer to the one before; the third one is `name(2)`."""
    return [
        Turn(name(at), "s", role, parts, at, (Parent(name(at - 1)),) if at else (), f"sha256:{at}")  # type: ignore[arg-type]
        for at, (role, parts) in enumerate(said)
    ]


def spread(memory: Slicebase, turns: list[Turn]) -> None:
    """Stores a conversation, and everything that can be made from it."""
    memory.truth.turns.add(Session("s", "test"), turns, annotate)
    memory.runs.from_session("s", "p")
    memory.runs.compact("p")
    memory.runs.narrative("p")
    memory.context("what is known?", run="p")
    memory.runs.fork("p", "forked")
    memory.runs.compact("forked")
    memory.runs.narrative("forked")


def left_of(root: Path, word: str) -> list[str]:
    return [str(path.relative_to(root)) for path, data in raw(root) if word.encode() in data]


REPLY = conversation(
    ("user", (text("Where?"),)),
    ("assistant", (text("PartA wolf-den-7"),)),
    ("assistant", (text("PartB owl-nest-9"),)),
    ("user", (text("Thanks."),)),
    ("assistant", (Part("thinking", text="zql"), text("zqm."), text("zqn?"))),
    ("user", (text("Key: raven-11"), Part("pointer", uri="x.png"), text("Pin: heron-22"))),
)


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (1, ["wolf-den-7"]),
        (2, ["owl-nest-9"]),
        (4, ["zql", "zqm.", "zqn?"]),
        (5, ["raven-11", "heron-22"]),
    ],
)
def test_a_purged_turn_takes_what_was_made_from_it_together_with_others(
    tmp_path: Path, turn: int, words: list[str]
) -> None:
    with Slicebase.init(tmp_path) as memory:
        spread(memory, REPLY)
        memory.purge(f"turn:{name(turn)}")
        assert memory.verify().status == "VERIFIED"
    assert {word: left_of(tmp_path, word) for word in words} == {word: [] for word in words}
    assert left_of(tmp_path, "Where?"), "the objective is another turn's"


def test_a_purged_prompt_of_several_parts_takes_the_objective_that_was_made_from_it(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        parts = tuple(text(f"part {number} of pin 47") for number in range(60))
        spread(memory, conversation(("user", parts), ("assistant", (text("Well."),))))
        assert memory.truth.runs.state("p").objective.endswith("…")
        memory.purge(f"turn:{name(0)}")
        assert memory.truth.runs.state("forked").objective.startswith("[purged ")
        assert memory.verify().status == "VERIFIED"
    assert left_of(tmp_path, "of pin 47") == []


def test_an_objective_that_was_given_stays_when_the_first_prompt_is_purged(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("s", "test"), REPLY, annotate)
        memory.runs.from_session("s", "p", objective="Find the animals.")
        memory.purge(f"turn:{name(0)}")
        assert memory.truth.runs.state("p").objective == "Find the animals."


def test_a_failure_goes_with_the_call_and_its_reason_with_the_result(tmp_path: Path) -> None:
    call = Part("tool_call", name="Login", arguments={"pin": "47 11"}, call_id="1")
    refused = Part("tool_result", text="no entry for owls", call_id="1", error=True)
    said: list[Said] = [("user", (text("Log in."),)), ("assistant", (call,)), ("tool", (refused,))]
    with Slicebase.init(tmp_path) as memory:
        spread(memory, conversation(*said))
        memory.purge(f"turn:{name(1)}")
        (failure,) = memory.truth.runs.state("forked").failures.values()
        assert (failure["where"][:8], failure["why"].partition(" (")[0]) == ("[purged ", "no entry for owls")
        memory.purge(f"turn:{name(2)}")
        assert memory.verify().status == "VERIFIED"
    assert [*left_of(tmp_path, "47 11"), *left_of(tmp_path, "no entry for owls")] == []


def test_a_claim_that_cites_a_purged_turn_and_only_repeats_it_goes(tmp_path: Path) -> None:
    """Other claims of the same run that say these few words stay, and so do words of one's own."""
    with Slicebase.init(tmp_path) as memory:
        memory.truth.turns.add(Session("s", "test"), REPLY, annotate)
        memory.runs.start("own", "Look.", "Seen.")
        cite = (f"turn:{name(1)}", "wolf-den-7")
        memory.runs.claim("own", "wolf-den-7", cite=cite)
        memory.runs.claim("own", "It is a den.", cite=cite)
        memory.runs.claim("own", "wolf-den-7")
        memory.runs.compact("own")
        memory.purge(f"turn:{name(1)}")
        said = [claim["statement"] for claim in memory.truth.runs.state("own").claims.values()]
        assert (said[0][:8], *said[1:]) == ("[purged ", "It is a den.", "wolf-den-7")
        assert memory.verify().status == "VERIFIED"


def test_a_quote_from_a_narrative_goes_with_the_narrative(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        spread(memory, REPLY)
        narrative = memory.runs.narrative("p").file_id
        cited = memory.cite(f"file:{narrative}", quote="PartA wolf-den-7")
        memory.purge(f"turn:{name(1)}")
        assert memory.truth.ledger[cited.id].quote is None
        assert memory.verify().status == "VERIFIED"
    assert left_of(tmp_path, "wolf-den-7") == []


def shapes() -> st.SearchStrategy[list[tuple[str, list[str]]]]:
    """Conversations as the roles of their turns and the kinds of their parts."""
    of_agent = st.lists(st.sampled_from(["text", "thinking", "call", "code"]), min_size=1, max_size=3)
    turns = st.one_of(
        st.tuples(st.just("user"), st.lists(st.sampled_from(["text", "pointer"]), min_size=1, max_size=3)),
        st.tuples(st.just("assistant"), of_agent),
        st.tuples(st.just("tool"), st.lists(st.sampled_from(["result", "error"]), min_size=1, max_size=2)),
        st.tuples(st.just("system"), st.just(["text"])),
    )
    return st.lists(turns, min_size=1, max_size=7)


def spoken(shape: list[tuple[str, list[str]]]) -> Iterator[tuple[Said, list[str]]]:
    """Yields turns of a shape, each with its words: every part has a word that no other part has."""
    number, open_calls = count(), list[str]()
    for role, kinds in [("user", ["text"]), *shape]:
        parts, words = [], []
        for kind in kinds:
            words.append(word := f"zq{next(number):03}x")
            if kind == "call":
                open_calls.append(word)
                parts.append(Part("tool_call", name="Tool", arguments={"of": word}, call_id=f"call {len(open_calls)}"))
            elif kind in ("result", "error"):
                call = f"call {len(open_calls)}"
                parts.append(Part("tool_result", text=word, call_id=call, error=kind == "error"))
            else:
                parts.append(Part(kind, **{"uri" if kind == "pointer" else "text": word}))  # type: ignore[arg-type]
        yield (role, tuple(parts)), words


@settings(max_examples=8 * MORE)
@given(shape=shapes(), data=st.data())
def test_of_any_turn_no_word_is_left_and_of_others_all_that_was_not_joined_with_it(
    tmp_path_factory: pytest.TempPathFactory, shape: list[tuple[str, list[str]]], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("w")
    said = list(spoken(shape))
    taken = data.draw(st.integers(0, len(said) - 1))
    with Slicebase.init(root) as memory:
        spread(memory, conversation(*(each for each, _ in said)))
        memory.purge(f"turn:{name(taken)}")
        assert memory.verify().status == "VERIFIED"
        events = str([event.payload for event in memory.runs.events("p")])
    for at, ((role, _), words) in enumerate(said):
        if at == taken:
            assert {word: left_of(root, word) for word in words} == {word: [] for word in words}
        elif role in ("user", "tool"):  # these are never joined with another turn
            assert all(word in events for word in words), f"turn {at} of {shape}"


# What references say of a text


HEADING = "thevaultcodeisninesevenfourtwozeroeightseven-donottell"


def cite_all(memory: Slicebase, refs: list[str]) -> None:
    """Makes everything from chunks that can be made: evidence, claims, snapshots, narratives, contexts."""
    memory.runs.start("own", "Look.", "Seen.")
    for ref in refs:
        memory.runs.claim("own", "It is said.", cite=memory.cite(ref, span=(0, 1)))
    memory.runs.compact("own")
    memory.runs.narrative("own")
    memory.context("pelican vault code", run="own")


def log_of(memory: Slicebase, rows: dict[str, str]) -> str:
    """Creates a log whose rows have ids that somebody wrote, as files from elsewhere can have."""
    log = memory.library.create("Log", "s", type="jsonl")
    meta = {"created_at": "2026-01-01T00:00:00.000Z"}
    lines = [json.dumps({"_meta": {"id": name, **meta}, "text": text}) for name, text in rows.items()]
    with (memory.root / ".slices" / f"{log.id}.slice").open("a") as file:
        file.writelines(f"{line}\n" for line in lines)
    return log.id


def test_of_a_purged_file_no_heading_is_left_in_any_record(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        page = memory.library.create("Keys", "s", body=f"# Intro\n\n## {HEADING}\n\nThe pelican guards the vault.\n")
        ((hit,),) = [each.found for each in memory.search("pelican").files]
        assert hit.ref.endswith(f"#intro/{HEADING}"), "people read and write the slugs"
        cite_all(memory, [hit.ref])
        memory.runs.log("own", [{"type": "SOURCE", "payload": {"chunk_ids": [hit.ref]}}])
        report = memory.library.purge(page.id).purge
        assert report is not None
        assert report.remnants == ()
        memory.runs.compact("own")
        assert memory.verify().status == "VERIFIED"
    assert left_of(tmp_path, HEADING[:32]) == []


def test_what_a_record_names_by_a_digest_is_found_by_it(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        page = memory.library.create("Keys", "s", body=f"# Intro\n\n## {HEADING}\n\nThe pelican guards the vault.\n")
        row = "the-row-in-which-the-pelican-is-said-to-guard-the-vault"
        log = log_of(memory, {row: "The pelican sleeps."})
        for ref, quote in ((f"file:{page.id}", "guards"), (f"file:{log}", "sleeps")):
            cited = memory.cite(ref, quote=quote)
            assert "~" in cited.ref
            assert quote in memory.library.recall(cited.ref).text
            assert memory.cite(cited.ref, quote=quote).id == cited.id
            assert quote in memory.why(cited.id).text
            assert [each.ref for each in memory.why(cited.ref, forward=True).children] == [cited.id]
        assert {finding.status for finding in memory.verify().findings} == set()


LONG = st.lists(
    st.sampled_from(["Pelican", "vault", "the code", "is", "9742087", "straße", "日本語", "*now*", "a_b"]), min_size=4
)


@settings(max_examples=4 * MORE)
@given(
    headings=st.lists(st.tuples(st.integers(1, 3), LONG.map(" ".join)), min_size=1, max_size=3),
    ids=st.lists(LONG, max_size=2),
)
def test_of_any_headings_and_ids_of_rows_no_passage_is_left(
    tmp_path_factory: pytest.TempPathFactory, headings: list[tuple[int, str]], ids: list[list[str]]
) -> None:
    root = tmp_path_factory.mktemp("w")
    body = "".join(f"{'#' * level} {title}\n\nPelican {at}.\n\n" for at, (level, title) in enumerate(headings))
    rows = {"-".join("-".join(words).split()): "The pelican sleeps." for words in ids}
    with Slicebase.init(root) as memory:
        page = memory.library.create("Keys", "s", body=body).file
        log = log_of(memory, rows)
        found = [str(section_ref(page.id or "", digest(page.body), each)) for each in sections(page.body.decode())]
        cite_all(memory, [*found, *(f"row:{log}/{row}" for row in rows)])
        for name_of_file in (page.id or "", log):
            report = memory.library.purge(name_of_file).purge
            assert report is not None
            assert report.remnants == ()
        assert memory.verify().status == "VERIFIED"
    texts = [*(title for _, title in headings), *(ref.partition("#")[2] for ref in found), *rows]
    assert [text for text in texts if len(text.encode()) >= 32 and holders(root, text)] == []


# What two texts have in common, and what says nothing


MARKS = "[redacted:github-token] [redacted:private] [redacted:email-address]"


def test_marks_of_redaction_are_no_passages(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        page, _ = (memory.library.create(f"Notes {n}", "s", body=f"Note {n}: {MARKS}, see {n}.\n") for n in (1, 2))
        memory.runs.start("own", f"Find out about {MARKS}.", "Done.")
        report = memory.library.purge(page.id).purge
        assert report is not None
        assert (report.shared, report.changed, report.remnants) == ((), (), ())


def test_what_stands_between_marks_is_a_passage(tmp_path: Path) -> None:
    said = "[redacted:private] and her lawyer is called Bob [redacted:private]"
    with Slicebase.init(tmp_path) as memory:
        page, other = (memory.library.create(f"Notes {n}", "s", body=f"Note {n}: {said}.\n") for n in (1, 2))
        assert memory.library.purge(page.id).purge.shared == (f"file:{other.id}",)  # type: ignore[union-attr]


def test_logs_of_the_same_form_and_writer_share_nothing(tmp_path: Path) -> None:
    root = tmp_path / "a-folder-with-a-name-that-is-as-long-as-a-passage"
    with Slicebase.init(root) as memory:
        who = Provenance(agent="claude-code", source="agent", session="55555555-5555-4555-8555-555555555555")
        logs = [memory.library.create(f"Log {n}", "s", type="jsonl", provenance=who).id for n in range(3)]
        for log, words in zip(
            logs, ("owls sleep", "herons fish", "owls sleep in the old barn by the river"), strict=True
        ):
            for n in range(3):
                memory.library.remember(log, f"{words} {n}", provenance=who)
        memory.library.remember(logs[0], "owls sleep in the old barn by the river", provenance=who)
        report = memory.library.purge(logs[0]).purge
        assert report is not None
        assert report.shared == (f"file:{logs[2]}",), "the only one that says the same"


@pytest.mark.parametrize(("turn", "word"), [(0, "raven-11"), (1, "owl-77"), (1, "wren-5"), (3, "heron-22")])
def test_what_an_agent_needs_to_continue_goes_with_its_turn(tmp_path: Path, turn: int, word: str) -> None:
    """A rule, the last words about a prompt without an answer, a file, a task."""
    edit = Part("tool_call", name="Edit", arguments={"file_path": "wren-5", "old_string": "a"}, call_id="1")
    tasks = {"todos": [{"content": "Feed heron-22", "status": "pending"}]}
    said: list[Said] = [
        ("user", (text("Never touch raven-11."),)),
        ("assistant", (text("Let me look at owl-77."), edit)),
        ("tool", (Part("tool_result", text="ok", call_id="1"),)),
        ("assistant", (Part("tool_call", name="TodoWrite", arguments=tasks, call_id="2"),)),
    ]
    with Slicebase.init(tmp_path) as memory:
        spread(memory, conversation(*said))
        assert left_of(tmp_path, word)
        memory.purge(f"turn:{name(turn)}")
        assert left_of(tmp_path, word) == []


@pytest.mark.parametrize("what", ["session:s#agent-1", f"turn:{name(5)}"])
def test_a_file_that_a_subagent_wrote_goes_with_it(tmp_path: Path, what: str) -> None:
    """Also from the run of the session that started the agent, and where a later command names the end of the path."""
    start = Part("tool_call", name="Task", arguments={"prompt": "Work."}, call_id="1")
    remove = Part("tool_call", name="Bash", arguments={"command": "rm b.py"}, call_id="2")
    write = Part("tool_call", name="Write", arguments={"file_path": "/w/heron-22/b.py", "content": "x"}, call_id="3")
    said: list[Said] = [("user", (text("Go on."),)), ("assistant", (start,)), ("assistant", (text("So."), remove))]
    agent = Turn(name(5), "s#agent-1", "assistant", (write,), 1, (Parent(name(1)),), "sha256:5")
    with Slicebase.init(tmp_path) as memory:
        turns = conversation(*said)
        memory.truth.turns.add(Session("s", "test"), turns[:2], annotate)
        memory.truth.turns.add(Session("s#agent-1", "test"), [agent], annotate)
        spread(memory, turns)
        assert left_of(tmp_path, "heron-22")
        memory.purge(what)
        assert left_of(tmp_path, "heron-22") == []
        assert memory.verify().status == "VERIFIED"
