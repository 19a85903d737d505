"""Turns are found by their words and filters, shown by session, and read like a conversation."""

import json
from pathlib import Path
from typing import Any

import pytest

from slicebase import Slicebase, SlicebaseError
from tests.cli.conftest import Tt

ONE = "0f3a0000-0000-4000-8000-000000000001"
TWO = "0f3a1111-0000-4000-8000-000000000002"


def record(session: str, number: int, role: str, content: Any, day: int, **more: Any) -> dict[str, Any]:
    uuid = f"{session[:8]}-0000-4000-9000-{number:012}"
    above = f"{session[:8]}-0000-4000-9000-{number - 1:012}" if number else None
    fields = {"cwd": "/repo/gateway", "gitBranch": "main", "version": "2", "isSidechain": False, "userType": "external"}
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": above,
        "sessionId": session,
        "timestamp": f"2026-01-{day:02}T10:00:{number:02}.000Z",
        "message": {"role": role, "content": content},
        **fields,
        **more,
    }


@pytest.fixture
def history(tt: Tt, tmp_path: Path) -> Path:
    call = {
        "type": "tool_use",
        "id": "c1",
        "name": "Edit",
        "input": {"file_path": "/repo/gateway/src/app.py", "old": "a\nb"},
    }
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "edited go-humanize"}
    thinking = {"type": "thinking", "thinking": "Perhaps the hooks.", "signature": "x"}
    one = [
        record(ONE, 0, "user", "Where is GIT_INDEX_FILE set?", 5),
        record(
            ONE, 1, "assistant", [thinking, {"type": "text", "text": "We decided to set GIT_INDEX_FILE in hooks."}], 5
        ),
        record(ONE, 2, "assistant", [call], 5),
        record(ONE, 3, "user", [result], 5),
        record(ONE, 4, "user", "The git index of a file, please.", 5),
    ]
    two = [record(TWO, 0, "user", "Set GIT_INDEX_FILE again.", 9, cwd="/repo/other", gitBranch="fix")]
    for name, records in ((ONE, one), (TWO, two)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)))
    assert tt("import", tmp_path / f"{ONE}.jsonl", tmp_path / f"{TWO}.jsonl").exit == 0
    return tmp_path


def test_hits_are_shown_by_session_with_the_place_and_the_command_that_resumes_it(tt: Tt, history: Path) -> None:
    done = tt("search", "GIT_INDEX_FILE")
    assert done.exit == 0
    assert "session:0f3a0000  2026-01-05  /repo/gateway  (main)" in done.out
    assert "**GIT_INDEX_FILE**" in done.out
    assert f"cd /repo/gateway && claude --resume {ONE}" in done.out
    assert "The git index" not in done.out
    flat = tt("search", "GIT_INDEX_FILE", "--flat")
    assert [line.split()[2] for line in flat.out.splitlines() if line.startswith("turn:")].count("user") == 2
    found = tt("search", "GIT_INDEX_FILE", "--json").json
    assert {each["ref"]: (each["project"], each["branch"], len(each["turns"])) for each in found["sessions"]} == {
        f"session:{ONE}": ("/repo/gateway", "main", 2),
        f"session:{TWO}": ("/repo/other", "fix", 1),
    }
    assert {turn["match"] for turn in found["turns"]} == {"whole"}


@pytest.mark.parametrize(
    ("query", "turns"),
    [
        (("GIT_INDEX_FILE", "session:0f3a0000"), 2),
        (("GIT_INDEX_FILE", "-hooks"), 2),
        (("GIT_INDEX_FILE", "project:gateway", "role:user"), 1),
        (("GIT_INDEX_FILE", "after:2026-01-06"), 1),
        (("GIT_INDEX_FILE", "before:2026-01-06", "kind:answer"), 1),
        (("tool:Edit",), 2),
        (("file:src/app.py", "kind:result"), 1),
        (("kind:file",), 0),
        (('"session:"',), 0),
    ],
)
def test_one_query_language_narrows_search_context_and_turns(
    tt: Tt, history: Path, query: tuple[str, ...], turns: int
) -> None:
    found = tt("search", *query, "--json", "--limit", 20)
    assert len(found.json["turns"]) == turns
    with Slicebase.open(history) as memory:
        typed = " ".join(query)
        assert len(memory.search(typed, limit=20).turns) == len(memory.graph.search(typed, 20)) == turns
        refs = {turn.ref for turn in memory.search(typed, limit=20).turns}
        assert {each.id for each in memory.graph.sessions(typed)} == {
            turn.session for turn in memory.search(typed, limit=20).turns
        }
        if not typed.startswith(("tool:", "file:", "kind:")):
            pieces = {piece.ref for piece in memory.context(typed, 2000, record=False).pieces}
            assert pieces >= refs or not refs


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("x role:boss", "unknown-value"),
        ("x kind:poem", "unknown-value"),
        ("x after:sometime", "bad-time"),
        ("x before:2026-13-01", "bad-time"),
        ("x -after:2026", "unknown-value"),
        ("x session:nobody", "no-session"),
        ("-heron", "no-words"),
    ],
)
def test_a_value_that_means_nothing_is_an_error_at_every_door(tt: Tt, history: Path, query: str, code: str) -> None:
    assert tt("search", "--json", "--", query).error["code"] == code
    with Slicebase.open(history) as memory:
        for verb in (memory.search, memory.graph.search, memory.context):
            with pytest.raises(SlicebaseError) as caught:
                verb(query)
            assert caught.value.code == (code if verb != memory.context or code != "no-words" else "bad-question")


def test_where_nothing_has_all_words_the_best_with_some_follow_and_that_is_said(tt: Tt, history: Path) -> None:
    done = tt("search", "which hooks are for walruses", "--json")
    assert (done.exit, done.json["partial"]) == (0, True)
    assert "hooks" in done.json["turns"][0]["text"]
    assert "some of them" in tt("search", "which hooks are for walruses").err
    assert "parts" in tt("search", "index-file").err
    assert tt("search", "walruses").exit == 1


def test_after_the_few_with_all_words_the_best_with_some_follow_below_a_line_that_says_so(
    tt: Tt, history: Path
) -> None:
    first, after = tt("search", "please git index").out.split("Only some of the words:")
    assert "of a file" in first
    assert "Set" in after
    assert "of a file" not in after
    found = tt("search", "please git index", "--json").json
    assert [turn["text"] for turn in found["turns"]] == ["The git index of a file, please."]
    assert found["rest"]["total_turns"] == len(found["rest"]["turns"])
    assert {turn["ref"] for turn in found["rest"]["turns"]}.isdisjoint({turn["ref"] for turn in found["turns"]})
    assert "Only some" not in tt("search", "please git index", "--limit", "1").out


def test_that_turns_have_only_parts_of_an_identifier_is_said_in_turns_too(tt: Tt, history: Path) -> None:
    assert "its parts" in tt("turns", "--search", "index-file").err
    assert "some of them" in tt("turns", "--search", "hooks walruses").err
    assert tt("turns", "--search", "GIT_INDEX_FILE").err == ""


def test_a_session_without_a_turn_that_lacks_an_excluded_text_is_not_listed(tt: Tt, history: Path) -> None:
    assert [row["session"] for row in tt("turns", '-"again"', "--json").json["rows"]] == [ONE]


def test_several_sessions_can_be_named(tt: Tt, history: Path) -> None:
    assert len(tt("turns", "session:0f3a0000", "session:0f3a1111", "--json").json["rows"]) == 2
    assert len(tt("turns", "session:0f3a0000 role:user", "--json").json["rows"]) == 2


def test_what_narrows_a_question_is_said(tt: Tt, history: Path) -> None:
    done = tt("context", "why does git run -it in hooks", "--no-record")
    assert "narrowed by -it" in done.err
    assert "narrowed" not in tt("context", "why does git run in hooks", "--no-record").err


def test_the_shell_may_take_the_quotation_marks_of_a_filter(tt: Tt, tmp_path: Path) -> None:
    for number, folder in enumerate(("/home/me/my app", "/home/me/my")):
        spoken = record(f"0f3a{number}222-0000-4000-8000-000000000001", 0, "user", "a numbat", 5, cwd=folder)
        (tmp_path / f"{number}.jsonl").write_text(json.dumps(spoken))
        assert tt("import", tmp_path / f"{number}.jsonl").exit == 0
    for given in (("project:my app", "numbat"), ('project:"my app" numbat',)):
        assert [each["project"] for each in tt("search", *given, "--json").json["sessions"]] == ["/home/me/my app"]
    assert [row["project"] for row in tt("turns", "project:my app", "--json").json["rows"]] == ["/home/me/my app"]
    assert len(tt("search", "project:/home/me", "numbat", "--json").json["sessions"]) == 2
    assert tt("search", "project:/me/my", "numbat").exit == 1


def test_who_speaks_is_searched_and_shown_and_a_turn_without_a_time_has_none(tt: Tt, tmp_path: Path) -> None:
    spoken = [
        {"role": "user", "name": "Zebulon", "content": "please deploy"},
        {"role": "assistant", "content": "Done."},
    ]
    (tmp_path / "said.json").write_text(json.dumps(spoken))
    assert tt("import", tmp_path / "said.json").exit == 0
    (turn,) = tt("search", "Zebulon", "--json").json["turns"]
    assert turn["time"] is None
    assert len(tt("search", '"Zebulon: please"', "--json").json["turns"]) == 1
    for shown in (("recall", turn["ref"]), ("context", "who should deploy?"), ("turns", "--search", "deploy")):
        assert "Zebulon: please deploy" in tt(*shown).out
    outline = tt("show", "session:said").out
    assert f"\n    {turn['ref'][:13]}\n" in outline
    assert tt("search", "deploy before:2000").exit == 1
    for command in (("search", "deploy"), ("search", "deploy", "--flat"), ("turns",), ("turns", "said")):
        assert "undated" in tt(*command).out
        assert "1970" not in tt(*command).out


def test_times_since_the_beginning_of_a_source_are_no_dates(tt: Tt, tmp_path: Path) -> None:
    step = {"action": "ls", "thought": "Look.", "observation": "heron.py", "response": "Look.", "execution_time": 7.5}
    history = [{"role": "user", "content": "Find the heron."}]
    (tmp_path / "one.traj").write_text(json.dumps({"trajectory": [step, step], "history": history}))
    assert tt("import", tmp_path / "one.traj").exit == 0
    found = tt("search", "heron", "--json").json["turns"]
    assert [turn["time"] for turn in found] == [None] * 3
    assert tt("search", "heron before:2000").exit == 1
    refs = [turn["ref"] for turn in found]
    for command in (
        *(("show", ref) for ref in refs), *(("recall", ref) for ref in refs), *(("why", ref) for ref in refs),
        ("search", "heron"), ("turns",), ("turns", "one"), ("context", "where is the heron?"), ("show", "session:one"),
    ):  # fmt: skip
        assert "1970" not in tt(*command).out, command


def test_hits_of_many_sessions_fold_and_every_turn_counts(tt: Tt, tmp_path: Path) -> None:
    for name, turns in (("a", 90), ("b", 2), ("c", 1)):
        spoken = [
            {"role": "user", "content": f"an ibis {at}" if name == "a" else f"ibis, {at} nests"} for at in range(turns)
        ]
        (tmp_path / f"{name}.json").write_text(json.dumps(spoken))
    assert tt("import", *(tmp_path / f"{name}.json" for name in "abc")).exit == 0
    found = tt("search", "ibis", "--limit", 2, "--json").json
    assert (len(found["turns"]), len(found["sessions"]), found["total_turns"], found["exact"]) == (2, 2, 93, True)
    counts = {each["ref"]: len(each["turns"]) + each["more"] for each in found["sessions"]}
    assert all(counts[ref] == {"a": 90, "b": 2, "c": 1}[ref.removeprefix("session:")] for ref in counts)
    assert "93 turns match" in tt("search", "ibis", "--limit", 2).err
    everything = tt("search", "ibis", "--json").json
    assert {each["ref"] for each in everything["sessions"]} == {"session:a", "session:b", "session:c"}


def test_a_similar_word_of_turns_is_a_hint(tt: Tt, history: Path) -> None:
    assert "for hoooks there is hooks" in tt("search", "hoooks").err


@pytest.mark.parametrize("filters", ["before:2000", "tool:Nothing", "project:nowhere", "kind:file", "role:system"])
def test_what_filters_leave_out_gets_a_hint_about_filters(tt: Tt, history: Path, filters: str) -> None:
    assert tt("search", filters, "GIT_INDEX_FILE", "--json").json["hints"] == [
        "3 turns would match without the filters"
    ]
    (hint,) = tt("search", filters, "--json").json["hints"]
    assert hint.startswith(f"nothing passes {filters}")


def test_sessions_are_listed_newest_first_with_their_figures(tt: Tt, history: Path) -> None:
    rows = tt("turns", "--json").json["rows"]
    assert [(row["session"], row["turns"], row["project"], row["prompt"]) for row in rows] == [
        (TWO, 1, "/repo/other", "Set GIT_INDEX_FILE again."),
        (ONE, 5, "/repo/gateway", "Where is GIT_INDEX_FILE set?"),
    ]
    assert tt("turns", "--limit", 1).out.startswith("0f3a1111  2026-01-09 10:00  1 turn, ")
    assert [row["session"] for row in tt("turns", "project:gateway", "--json").json["rows"]] == [ONE]
    assert len(tt("turns", "0f3a0000", "role:user", "--json").json["rows"]) == 2
    assert tt("turns", "role:system").exit == 1


def test_a_session_is_shown_as_an_outline(tt: Tt, history: Path) -> None:
    outline = tt("show", "session:0f3a0000", "--json").json["outline"]
    assert [step["kind"] for step in outline["steps"]] == ["prompt", "decision", "prompt"]
    assert outline["files"] == [{"path": "/repo/gateway/src/app.py", "changes": 1, "calls": 1}]
    shown = tt("show", "session:0f3a0000").out
    assert "/repo/gateway/src/app.py  (1 change, 1 call)" in shown
    assert f"claude --resume {ONE}" in shown


def test_a_tool_call_reads_like_one_and_thinking_is_marked(tt: Tt, history: Path) -> None:
    (call,) = tt("search", "tool:Edit kind:call", "--json").json["turns"]
    assert "[call] Edit\nfile_path: /repo/gateway/src/app.py\nold:\na\nb" in tt("recall", call["ref"]).out
    built = tt("context", "perhaps the hooks", "--json").json
    assert "[thinking]\nPerhaps the hooks." in built["text"]
    assert tt("replay", built["manifest_id"], "--json").json["identical"]
    assert tt("verify").exit == 0


def test_a_subagent_has_a_short_name_and_does_not_make_that_of_its_session_longer(tt: Tt, history: Path) -> None:
    agent = record(ONE, 50, "user", "Look for herons.", 6, isSidechain=True, agentId="ag7", parentUuid=None)
    (history / "agent-ag7.jsonl").write_text(json.dumps(agent))
    assert tt("import", history / "agent-ag7.jsonl").exit == 0
    lines = tt("turns", "project:gateway").out
    assert "\n0f3a0000  " in lines
    assert lines.startswith("0f3a0000#agent-ag7  ")
    assert len(tt("turns", "0f3a0000", "--json").json["rows"]) == 5
    assert len(tt("turns", "0f3a0000#agent-ag7", "--json").json["rows"]) == 1
    assert f"claude --resume {ONE}" in tt("search", "herons").out


def test_a_copy_that_brings_nothing_new_is_listed_as_the_copy_that_it_is(tt: Tt, history: Path) -> None:
    copy, later = "0f3a2222-0000-4000-8000-000000000003", "0f3a3333-0000-4000-8000-000000000004"
    records = [json.loads(line) for line in (history / f"{ONE}.jsonl").read_text().splitlines()]
    lines = [json.dumps({**each, "sessionId": copy}) for each in records]
    (history / f"{copy}.jsonl").write_text("\n".join(lines))
    assert tt("import", history / f"{copy}.jsonl").exit == 0
    (row,) = (row for row in tt("turns", "--json").json["rows"] if row["session"] == copy)
    assert (row["copy_of"], row["turns"], row["purged"]) == (ONE, 0, False)
    listed = tt("turns").out
    assert "purged" not in listed
    assert "0f3a2222  copy  0 turns" in listed
    assert "a copy of session:0f3a0000, which has all of its turns" in listed
    tt("purge", f"session:{TWO}")
    assert "0f3a1111  purged  1 turn" in tt("turns").out
    # A copy that goes on has turns of its own.
    own = record(copy, 9, "user", "Go on.", 10, parentUuid=records[-1]["uuid"])
    (history / f"{copy}.jsonl").write_text("\n".join([*lines, json.dumps(own)]))
    assert tt("import", history / f"{copy}.jsonl").exit == 0
    assert "copy" not in tt("turns").out
    # The order of batches and imports does not matter: so it is where the copy comes in one piece.
    last = record(later, 9, "user", "Go on.", 11, parentUuid=records[-1]["uuid"])
    (history / f"{later}.jsonl").write_text("\n".join([*lines, json.dumps(last)]).replace(copy, later))
    assert tt("import", history / f"{later}.jsonl").exit == 0
    with Slicebase.open(history) as base:
        facts = [
            next(each for each in base.graph.sessions() if each.id == name).session.facts for name in (copy, later)
        ]
    assert all("copy_of" not in each and each["cwd"] for each in facts)


def test_the_turns_of_a_session_are_narrowed_by_a_query_as_in_python(tt: Tt, history: Path) -> None:
    def refs(*arguments: str) -> list[str]:
        return [row["ref"] for row in tt("turns", *arguments, "--json").json["rows"]]

    with Slicebase.open(history) as base:
        for query in ('"git index"', "hooks", "GIT_INDEX_FILE role:user", '-"please" kind:prompt'):
            assert refs("0f3a0000", query) == [turn.ref for turn in base.graph.turns(ONE, query)] != []
        assert refs("session:0f3a0000", "GIT_INDEX_FILE") == [
            turn.ref for turn in base.graph.turns(ONE, "GIT_INDEX_FILE")
        ]
        assert refs("GIT_INDEX_FILE", "session:0f3a0000") == refs("session:0f3a0000", "GIT_INDEX_FILE")
        assert refs("session:0f3a0000", '"git index"') == [turn.ref for turn in base.graph.turns(ONE, '"git index"')]
        found = base.graph.search(f"GIT_INDEX_FILE session:{ONE}")
        assert refs("0f3a0000", "-s", "GIT_INDEX_FILE") == [turn.ref for turn in found]
        sessions = base.graph.sessions('"git index"')
    rows = tt("turns", '"git index"', "--json").json["rows"]
    assert [row["session"] for row in rows] == [each.id for each in sessions] == [ONE]
    assert tt("turns", "nobody", "hooks", "--json").error["code"] == "no-session"


@pytest.mark.parametrize("is_list_first", [False, True])
def test_a_copy_with_its_result_as_a_block_and_marks_for_a_cache_is_nothing_new(
    tt: Tt, history: Path, tmp_path: Path, is_list_first: bool
) -> None:
    def lines(content: Any, **more: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": "c9", "content": content}
        asked = record(name, 0, "user", [{"type": "text", "text": "Look.", **more}], 9)
        return "\n".join(map(json.dumps, (asked, record(name, 1, "user", [{**block, **more}], 9))))

    name = "0f3a5555-0000-4000-8000-000000000006"
    forms = [lines("done"), lines([{"type": "text", "text": "done"}], cache_control={"type": "ephemeral"})]
    first, second = reversed(forms) if is_list_first else forms
    for text, known in ((first, 0), (second, 2)):
        (tmp_path / "copy.jsonl").write_text(text)
        done = tt("import", tmp_path / "copy.jsonl", "--json")
        assert (done.exit, done.json["turns"]["known"], done.json["turns"]["conflicts"]) == (0, known, [])
