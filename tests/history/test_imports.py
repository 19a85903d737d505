"""An import of many inputs: each input that cannot be imported costs itself alone, and the account names it."""

import json
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.history.account import Account
from slicebase.history.annotate import Annotator
from slicebase.history.imports import import_inputs
from slicebase.history.inputs import inputs
from slicebase.importers.formats import GRAPH_FORMAT
from slicebase.importers.values import Options
from slicebase.truth.truth import Truth
from slicebase.verbs.verify import verify
from tests.cli.test_history_graph import edge, turn, uuid
from tests.codes import code_of
from tests.importers.test_swe_agent import HISTORY, WHOLE


@contextmanager
def fresh() -> Iterator[tuple[Truth, Path]]:
    with TemporaryDirectory() as name:
        truth = Truth(Path(name) / "slicebase.db", create=True)
        (Path(name) / "inputs").mkdir()
        try:
            yield truth, Path(name) / "inputs"
        finally:
            truth.close()


def run(truth: Truth, paths: list[Path], format_name: str | None = None) -> Account:
    return import_inputs(truth, inputs(paths), Options(), format_name=format_name, annotate=Annotator(truth))


def stored(truth: Truth) -> Counter[str]:
    return Counter({session.id: count for session, count in truth.turns.sessions()})


def messages(path: Path) -> None:
    path.write_text(json.dumps([{"role": "user", "content": path.stem}, {"role": "assistant", "content": "Yes."}]))


# Inputs of every kind: each takes a folder and a number, and returns the path to import


def _good(folder: Path, number: int) -> Path:
    messages(folder / f"good-{number}.json")
    return folder / f"good-{number}.json"


def _trajectory(folder: Path, number: int) -> Path:
    path = folder / f"good-{number}.traj"
    path.write_text(json.dumps({"history": [each for each in HISTORY if not each.get("is_demo")][:2]}))
    return path


def _folder(folder: Path, number: int) -> Path:
    path = folder / f"folder-{number}"
    path.mkdir()
    messages(path / f"good-{number}.json")
    (path / "package.json").write_text('{"name": "not a conversation"}')
    return path


def _zip(folder: Path, number: int) -> Path:
    messages(folder / "member.json")
    with zipfile.ZipFile(folder / f"{number}.zip", "w") as archive:
        archive.write(folder / "member.json", f"good-{number}.json")
    return folder / f"{number}.zip"


def _unknown(folder: Path, number: int) -> Path:
    path = folder / f"bad-{number}.jsonl"
    path.write_text("Nothing that an importer knows.\n")
    return path


def _blank(folder: Path, number: int) -> Path:
    path = folder / f"bad-{number}.traj"
    path.write_bytes(b"")
    return path


def _missing(folder: Path, number: int) -> Path:
    return folder / f"bad-{number}.json"


def _bad_zip(folder: Path, number: int) -> Path:
    path = folder / f"bad-{number}.zip"
    path.write_bytes(b"PK\x03\x04 no more")
    return path


def _empty_folder(folder: Path, number: int) -> Path:
    path = folder / f"bad-{number}"
    path.mkdir()
    return path


def _pipe(folder: Path, number: int) -> Path:
    path = folder / f"bad-{number}.pipe"
    os.mkfifo(path)
    return path


Make = Callable[[Path, int], Path]
GOOD: list[Make] = [_good, _trajectory, _folder, _zip]
BAD: dict[Make, str] = {
    _unknown: "unknown-format",
    _blank: "unknown-format",
    _missing: "no-input",
    _bad_zip: "bad-zip",
    _empty_folder: "no-input",
    _pipe: "no-input",
}


@settings(max_examples=60, deadline=None)
@given(kinds=st.lists(st.sampled_from([*GOOD, *BAD]), min_size=1, max_size=7))
def test_any_mix_stores_exactly_the_good_inputs_and_names_exactly_the_bad_ones(kinds: list[Make]) -> None:
    with fresh() as (truth, folder):
        paths = [make(folder, number) for number, make in enumerate(kinds)]
        bad = {str(path): BAD[make] for path, make in zip(paths, kinds, strict=True) if make in BAD}
        if len(bad) == len(paths):
            with pytest.raises(SlicebaseError) as caught:
                run(truth, paths)
            assert caught.value.code == next(iter(bad.values()))
            assert all(name in str(caught.value) for name in bad)
            assert not stored(truth)
            return
        account = run(truth, paths)
        assert {error.where.file: error.code for error in account.unreadable} == bad
        assert len(account.unreadable) == account.content_left_out == len(bad)
        good = [number for number, make in enumerate(kinds) if make in GOOD]
        assert stored(truth) == {f"good-{number}": 2 for number in good}
        assert account.added == 2 * len(good)
        assert account.report.adds_up
        assert verify(truth).status == "VERIFIED"


@settings(max_examples=30, deadline=None)
@given(st.permutations([_good, _trajectory, _unknown, _missing, _bad_zip]))
def test_the_order_of_inputs_changes_nothing(kinds: list[Make]) -> None:
    with fresh() as (truth, folder):
        account = run(truth, [make(folder, kind) for kind, make in enumerate(kinds)])
        assert (account.added, len(account.unreadable), len(stored(truth))) == (4, 3, 2)


def test_an_account_prints_as_one_line() -> None:
    with fresh() as (truth, folder):
        account = run(truth, [_good(folder, 1), _missing(folder, 2)])
        assert repr(account) == "Account(added=2, known=0, sessions=1, left_out=1)"
        assert repr(run(truth, [_good(folder, 1)])) == "Account(added=0, known=2, sessions=1, left_out=0)"


def test_a_format_that_does_not_exist_is_refused_before_anything_is_read() -> None:
    with fresh() as (truth, folder):
        assert code_of(lambda: run(truth, [_good(folder, 1), _unknown(folder, 2)], "nonsense")) == "unknown-format"
        assert not stored(truth)


def test_an_input_that_breaks_off_stores_what_its_account_says() -> None:
    """The checksum at the end of a member of a zip does not match: its turns are read before that is known."""
    with fresh() as (truth, folder):
        path = _zip(folder, 1)
        path.write_bytes(path.read_bytes().replace(b"Yes.", b"No!!"))
        account = run(truth, [path, _good(folder, 2)])
        assert [error.code for error in account.unreadable] == ["bad-zip"]
        assert sum(stored(truth).values()) == account.added == account.report.turns


@pytest.mark.parametrize("name", ["\udcff", "new\nline", "", "x#1", "a!b", "ü"])
def test_a_file_of_any_name_is_imported_with_the_others(name: str) -> None:
    """Also of a name that is not UTF-8, which cannot be the name of a session (rulings 1 and 16)."""
    with fresh() as (truth, folder):
        path = folder / f"{name}.traj"
        path.write_text(json.dumps(WHOLE))
        account = run(truth, [path, _good(folder, 1)])
        assert (account.added, len(stored(truth)), account.content_left_out) == (9, 2, 0)


def test_the_trajectories_of_a_folder_are_imported_without_secrets() -> None:
    token = "ghp_" + "a1B2" * 9
    steps = [{"thought": token, "action": f"curl {token}", "observation": token}]
    with fresh() as (truth, folder):
        (folder / "run.traj").write_text(json.dumps({**WHOLE, "trajectory": steps}))
        account = run(truth, [folder])
        # Four of the messages tell of steps that are not there.
        assert (account.formats, account.added, account.report.redacted) == ({"swe-agent": 1}, 9, {"github-token": 3})
        assert token not in "".join(truth.text_of(each.record) or "" for each in truth.turns.of_session("run"))


def test_a_folder_and_a_zip_without_conversations_are_named_with_their_files() -> None:
    with fresh() as (truth, folder):
        (folder / "empty").mkdir()
        for number in range(30):
            (folder / "empty" / f"{number:02}.json").write_text("{}")
        with zipfile.ZipFile(folder / "other.zip", "w") as archive:
            archive.writestr("package.json", "{}")
        account = run(truth, [folder / "empty", folder / "other.zip", _good(folder, 1)])
        assert [(error.code, error.where.file) for error in account.unreadable] == [
            ("unknown-format", str(folder / "empty")),
            ("unknown-format", str(folder / "other.zip")),
        ]
        assert "00.json" in account.unreadable[0].message
        assert "package.json" in account.unreadable[1].message
        assert account.unreadable[0].message.count(".json") == 20
        assert account.content_left_out == 2


def test_an_input_without_a_record_of_the_named_format_is_left_out() -> None:
    with fresh() as (truth, folder):
        path = folder / "x.traj"
        path.write_text(json.dumps(WHOLE))
        assert code_of(lambda: run(truth, [path], "messages")) == "unknown-format"
        account = run(truth, [path, _good(folder, 1)], "swe-agent")
        assert [error.where.file for error in account.unreadable] == [str(folder / "good-1.json")]
        assert account.added == 7


# Graph files


def graph(folder: Path, name: str, turns: list[dict[str, Any]], edges: list[dict[str, str]]) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"turns": turns, "edges": edges}))
    return path


def _graph(folder: Path, number: int) -> Path:
    first = 10 * number + 1
    turns = [turn(first, session_id=f"g{number}"), turn(first + 1, session_id=f"g{number}")]
    return graph(folder, f"good-{number}", turns, [edge(first, first + 1)])


def _not_json(folder: Path, number: int) -> Path:
    path = folder / f"bad-{number}.json"
    path.write_text("{")
    return path


def _bad_field(folder: Path, number: int) -> Path:
    return graph(folder, f"bad-{number}", [turn(10 * number, salience=7)], [])


def _no_end(folder: Path, number: int) -> Path:
    return graph(folder, f"bad-{number}", [turn(10 * number)], [edge(10 * number, 999_999)])


GRAPHS: dict[Make, str] = {
    _not_json: "bad-json", _bad_field: "out-of-range", _no_end: "no-turn", _missing: "no-input",
    _empty_folder: "no-input", _bad_zip: "bad-zip",
}  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(kinds=st.lists(st.sampled_from([_graph, *GRAPHS]), min_size=1, max_size=6))
def test_any_mix_of_graph_files_stores_exactly_the_good_ones(kinds: list[Make]) -> None:
    with fresh() as (truth, folder):
        paths = [make(folder, number) for number, make in enumerate(kinds)]
        bad = {str(path): GRAPHS[make] for path, make in zip(paths, kinds, strict=True) if make in GRAPHS}
        if len(bad) == len(paths):
            assert code_of(lambda: run(truth, paths, GRAPH_FORMAT)) == next(iter(bad.values()))
        else:
            account = run(truth, paths, GRAPH_FORMAT)
            assert {error.where.file: error.code for error in account.unreadable} == bad
            assert account.added == 2 * kinds.count(_graph)
        assert stored(truth) == {f"g{number}": 2 for number, make in enumerate(kinds) if make is _graph}


@pytest.mark.parametrize("dry_run", [False, True])
def test_nothing_is_left_of_a_graph_file_that_is_refused_after_its_turns_were_stored(dry_run: bool) -> None:
    """Its last edge closes a cycle with stored edges. The same turn in the next file is therefore new."""
    with fresh() as (truth, folder):
        paths = [
            graph(folder, "first", [turn(1), turn(2)], [edge(1, 2)]),
            graph(folder, "cycle", [turn(3)], [edge(2, 3), edge(3, 1)]),
            graph(folder, "last", [turn(3, session_id="t")], []),
        ]
        with truth.database.rolled_back() if dry_run else truth.database.bulk():
            account = run(truth, paths, GRAPH_FORMAT)
            assert truth.turns.get(uuid(3)).record.session == "t"
        assert (account.added, account.known, account.edges) == (3, 0, 1)
        assert [error.code for error in account.unreadable] == ["cycle"]
        assert account.formats == {GRAPH_FORMAT: 2}
        assert stored(truth) == ({} if dry_run else {"s": 2, "t": 1})


def test_an_input_without_a_record_that_can_be_read_says_why(truth: Truth, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"cut off\n' * 3)
    with pytest.raises(SlicebaseError) as caught:
        run(truth, [path], "messages")
    assert caught.value.code == "unknown-format"
    assert "3 × not-json" in caught.value.message


@pytest.mark.parametrize("copied", [1, 3])
def test_a_copy_of_stored_turns_in_another_folder_does_not_move_their_session(
    truth: Truth, tmp_path: Path, copied: int
) -> None:
    """What goes on there does: then the session is resumed there."""
    session = "22222222-2222-4333-8444-555555555555"
    lines = [
        {"type": "user", "uuid": uuid(number), "parentUuid": uuid(number - 1) if number > 1 else None}
        | {"sessionId": session, "timestamp": f"2026-01-01T00:00:0{number}Z", "gitBranch": "main", "version": "1"}
        | {"message": {"role": "user", "content": f"prompt {number}"}}
        for number in (1, 2, 3, 4)
    ]

    def imported(name: str, folder: str, count: int) -> str:
        path = tmp_path / name
        path.write_text("".join(json.dumps(line | {"cwd": folder}) + "\n" for line in lines[:count]))
        assert run(truth, [path]).content_left_out == 0
        return str(truth.turns.session(session).facts["cwd"])

    assert imported("a.jsonl", "/repo", 3) == "/repo"
    assert imported("b.jsonl", "/elsewhere", copied) == "/repo"
    assert imported("c.jsonl", "/elsewhere", 4) == "/elsewhere"


def test_the_roles_of_a_list_that_grows_are_those_that_it_had_when_each_turn_was_stored() -> None:
    """Whether a model will speak cannot be seen before it does, and a stored turn never changes (ruling 15)."""
    said = [{"role": role, "content": role} for role in ("user", "planner", "assistant", "critic")]
    with fresh() as (truth, folder):
        for count in range(1, len(said) + 1):
            (folder / "log.json").write_text(json.dumps({"messages": said[:count]}))
            account = run(truth, [folder / "log.json"])
            assert (account.known, account.content_left_out) == (count - 1, 0)
        roles = [each.record.role for each in truth.turns.of_session("log")]
        assert roles == ["user", "assistant", "assistant", "system"]
    with fresh() as (truth, folder):
        (folder / "log.json").write_text(json.dumps({"messages": said}))
        run(truth, [folder / "log.json"])
        roles = [each.record.role for each in truth.turns.of_session("log")]
        assert roles == ["user", "system", "assistant", "system"]
