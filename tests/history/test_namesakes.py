"""Files with the same name: no session ever mixes two conversations, and every file is stored whole or named."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.history.account import Account
from slicebase.history.annotate import Annotator
from slicebase.history.imports import import_inputs
from slicebase.history.inputs import inputs
from slicebase.importers.values import Options
from slicebase.truth.truth import Truth
from slicebase.verbs.verify import verify
from tests.codes import code_of
from tests.history.test_imports import fresh, stored
from tests.importers.reading import jsonl
from tests.importers.test_claude_code import record

TEXTS = st.lists(st.sampled_from(["one", "two"]), min_size=1, max_size=4)


def messages(texts: Sequence[str]) -> Any:
    return [{"role": "user", "content": text} for text in texts]


def trajectory(texts: Sequence[str]) -> Any:
    return {"history": [{"role": "user", "content": text} for text in texts]}


def responses(texts: Sequence[str]) -> Any:
    """A rollout of Codex without the record that names its session."""
    items = ({"type": "message", "role": "user", "content": [{"type": "input_text", "text": t}]} for t in texts)
    return [{"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": item} for item in items]


FORMS = {"json": messages, "traj": trajectory, "jsonl": responses}


def write(path: Path, form: str, texts: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    made = FORMS[form](texts)
    path.write_bytes(jsonl(made) if form == "jsonl" else json.dumps(made).encode())
    return path


def run(truth: Truth, paths: Sequence[Path], session: str | None = None) -> Account:
    return import_inputs(truth, inputs(paths), Options(session), annotate=Annotator(truth))


def texts_of(truth: Truth, session: str) -> list[str | None]:
    return [truth.text_of(each.record) for each in truth.turns.of_session(session)]


@settings(max_examples=60, deadline=None)
@given(
    files=st.lists(
        st.tuples(st.sampled_from(["run", "other"]), st.sampled_from(sorted(FORMS)), TEXTS), min_size=1, max_size=6
    ),
    at_once=st.booleans(),
    session=st.sampled_from([None, "mine"]),
)
def test_a_session_has_the_turns_of_one_conversation_and_every_file_is_stored_whole_or_named(
    files: list[tuple[str, str, list[str]]], at_once: bool, session: str | None
) -> None:
    with fresh() as (truth, folder):
        paths = [
            write(folder / str(number) / f"{stem}.{form}", form, texts)
            for number, (stem, form, texts) in enumerate(files)
        ]
        left_out: set[str | None] = set()
        counted = 0
        for batch in [[folder]] if at_once else [[path.parent] for path in paths]:
            account = run(truth, batch, session)
            assert {error.code for error in account.unreadable} <= {"session-differs"}
            assert not account.conflicts
            left_out |= {error.where.file for error in account.unreadable}
            counted += account.added
        kept: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
        for path, (stem, form, texts) in zip(paths, files, strict=True):
            if str(path) not in left_out:
                kept.setdefault(session or stem, set()).add((form, tuple(texts)))
        sessions = stored(truth)
        assert sessions.keys() == kept.keys()
        for name, conversations in kept.items():
            found = texts_of(truth, name)
            assert len({form for form, _ in conversations}) == 1
            assert found == max((list(texts) for _, texts in conversations), key=len)
            assert all(found[: len(texts)] == list(texts) for _, texts in conversations)
        assert counted == sum(sessions.values())
        assert verify(truth).status == "VERIFIED"


def test_a_file_that_has_grown_and_an_older_part_of_it_are_the_same_session() -> None:
    with fresh() as (truth, folder):
        path = write(folder / "run.json", "json", ["one"])
        assert run(truth, [path]).added == 1
        write(path, "json", ["one", "two"])
        assert (run(truth, [path]).added, run(truth, [path]).known) == (1, 2)
        part = write(folder / "old" / "run.json", "json", ["one"])
        assert run(truth, [part]).known == 1


def test_a_file_of_another_conversation_is_raised_alone_and_does_not_stop_the_others() -> None:
    with fresh() as (truth, folder):
        first, second, third = (
            write(folder / name / f"{stem}.json", "json", texts)
            for name, stem, texts in (("a", "run", ["A"]), ("b", "run", ["B", "b"]), ("c", "other", ["C"]))
        )
        account = run(truth, [first, second, third])
        assert [(error.code, error.where.file) for error in account.unreadable] == [("session-differs", str(second))]
        assert "--session" in account.unreadable[0].hint
        assert (account.added, account.content_left_out) == (2, 1)
        assert code_of(lambda: run(truth, [second])) == "session-differs"
        assert run(truth, [second], "mine").added == 2
        assert stored(truth) == {"run": 1, "other": 1, "mine": 2}


def test_conversations_that_the_records_name_are_not_refused_for_one_record() -> None:
    """The first version of a turn stays, and the others of the file are stored (ruling 15)."""
    with fresh() as (truth, folder):
        for name, lines in (
            ("a", [record(1, None, sessionId="s1")]),
            ("b", [record(1, None, content="other words", sessionId="s1"), record(2, 1, sessionId="s1")]),
        ):
            (folder / name).mkdir()
            (folder / name / "s1.jsonl").write_bytes(jsonl(lines))
        account = run(truth, [folder])
        assert (len(account.conflicts), account.unreadable, stored(truth)) == (1, [], {"s1": 2})


def test_records_with_ids_of_their_own_that_name_no_session_are_another_conversation() -> None:
    with fresh() as (truth, folder):
        for number in (1, 2):
            (folder / str(number)).mkdir()
            (folder / str(number) / "run.jsonl").write_bytes(jsonl([record(number, None, sessionId=None)]))
        account = run(truth, [folder])
        assert [error.code for error in account.unreadable] == ["session-differs"]
        assert stored(truth) == {"run": 1}


def test_nothing_is_left_of_a_file_that_is_refused_in_its_second_session() -> None:
    with fresh() as (truth, folder):
        for name, texts in (("a", ["one", "two"]), ("b", ["one", "other"])):
            (folder / name).mkdir()
            (folder / name / "run.jsonl").write_bytes(jsonl([{"messages": messages([text])} for text in texts]))
        account = run(truth, [folder])
        assert [error.where.file for error in account.unreadable] == [str(folder / "b" / "run.jsonl")]
        assert stored(truth) == {"run": 1, "run#1": 1}
        assert (account.added, account.known) == (2, 0)
