"""Sessions over HTTP: lists, trees, branches as chats, whole turns, and what was lost."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from slicebase.base import Slicebase
from slicebase.graph.turn import Parent, Part, Session, Turn
from tests.web.conftest import client_of

LONG = "c41f0a52-6b7d-4c1e-9f58-7d0e2a93b610"


def name(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def add(root: Path, session: str, above: dict[int, int | None], roles: str = "user assistant tool") -> None:
    """Stores turns, each after another one."""
    kinds: list[Any] = roles.split()
    with Slicebase.open(root) as base:
        turns = [
            Turn(
                name(number),
                session,
                kinds[place % len(kinds)],
                (Part("text", text=f"turn {number}"),),
                1_700_000_000_000 + number * 1000,
                () if parent is None else (Parent(name(parent)),),
                f"sha256:{number:064d}",
            )
            for place, (number, parent) in enumerate(above.items())
        ]
        from slicebase.history.annotate import Annotator

        base.truth.turns.add(Session(session, "messages"), turns, Annotator(base.truth))


def test_sessions_are_listed_page_by_page_the_newest_first(client: TestClient) -> None:
    first = client.get("/api/v1/sessions?limit=1").json()
    assert [row["session"] for row in first["rows"]] == [LONG]
    assert first["rows"][0]["compactions"] == 1
    second = client.get("/api/v1/sessions", params={"limit": 1, "cursor": first["next"]}).json()
    assert second["next"] is None
    assert len(second["rows"]) == 1
    assert second["rows"][0]["session"] != LONG


def test_a_query_narrows_the_list(client: TestClient) -> None:
    assert [row["session"] for row in client.get("/api/v1/sessions?query=webhook").json()["rows"]] != [LONG]
    assert client.get("/api/v1/sessions?query=qqqqqqqq").json() == {"rows": [], "next": None}


def test_a_cursor_of_a_session_that_is_not_listed_is_refused(client: TestClient) -> None:
    cursor = client.get("/api/v1/sessions?limit=1").json()["next"]
    found = client.get("/api/v1/sessions", params={"cursor": cursor, "query": "qqqqqqqq"})
    assert (found.status_code, found.json().get("code")) in ((400, "bad-cursor"), (200, None))
    assert client.get("/api/v1/sessions?cursor=%2B%2B").json()["code"] == "bad-cursor"


def test_a_session_has_its_figures_its_compactions_and_its_ends(client: TestClient) -> None:
    found = client.get(f"/api/v1/sessions/{LONG[:8]}").json()
    assert (found["session"], found["turns"], found["branches"]) == (LONG, 390, 1)
    assert found["figures"]["turns"] == 390
    assert len(found["compactions"]) == 1
    tree = client.get(f"/api/v1/trees/{LONG}?first=389").json()
    assert [row["turn"] for row in tree["rows"]] == [found["last"]]


def test_summaries_in_a_row_are_one_compaction_as_the_figures_and_the_losses_count_them(
    client: TestClient, root: Path
) -> None:
    """Some clients write a summary in several turns."""
    with Slicebase.open(root) as base:
        from slicebase.history.annotate import Annotator

        kinds: list[Any] = ["user", "system", "system", "assistant", "system"]
        turns = [
            Turn(
                name(700 + place),
                "rows",
                role,
                (Part("text", text=f"turn {place}", summary=role == "system"),),
                1_700_000_000_000 + place * 1000,
                (Parent(name(699 + place)),) if place else (),
                f"sha256:{700 + place:064d}",
            )
            for place, role in enumerate(kinds)
        ]
        base.truth.turns.add(Session("rows", "messages"), turns, Annotator(base.truth))
    found = client.get("/api/v1/sessions/rows").json()
    losses = client.get("/api/v1/lost/rows").json()["compactions"]
    assert [f"turn:{each['turn']}" for each in found["compactions"]] == [each["summary"] for each in losses]
    assert found["figures"]["compactions"] == len(losses) == 2


@pytest.mark.parametrize("path", ["sessions/none", "trees/none", "lost/none"])
def test_a_session_that_is_not_stored_is_not_found(client: TestClient, path: str) -> None:
    answer = client.get(f"/api/v1/{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "no-session")


def test_a_tree_is_read_in_windows(client: TestClient) -> None:
    all_rows = client.get(f"/api/v1/trees/{LONG}?limit=500").json()["rows"]
    assert [row["number"] for row in all_rows] == list(range(390))
    part = client.get(f"/api/v1/trees/{LONG}?first=100&limit=7").json()
    assert (part["turns"], part["first"], part["rows"]) == (390, 100, all_rows[100:107])
    around = client.get(f"/api/v1/trees/{LONG}", params={"turn": all_rows[200]["turn"][:8], "limit": 10}).json()
    assert all_rows[200] in around["rows"]
    assert client.get(f"/api/v1/trees/{LONG}?first=1000").json()["rows"] == []


def test_a_branch_is_read_in_windows_that_fit_together(client: TestClient) -> None:
    rows = client.get(f"/api/v1/trees/{LONG}?limit=60").json()["rows"]
    whole = client.get(f"/api/v1/readings/{rows[20]['turn']}?before=20&after=20").json()
    middle = client.get(f"/api/v1/readings/{rows[20]['turn'][:8]}?before=0&after=0").json()
    before = client.get(f"/api/v1/readings/{rows[20]['turn']}?before=20&after=0&alone=false").json()
    after = client.get(f"/api/v1/readings/{rows[20]['turn']}?before=0&after=20&alone=false").json()
    assert whole["turns"] == [*before["turns"], *middle["turns"], *after["turns"]]
    assert (whole["earlier"], whole["later"], middle["earlier"]) == (False, True, True)


def test_a_fork_has_its_branches_and_the_newest_one_is_followed(root: Path) -> None:
    add(root, "forks", {1: None, 2: 1, 3: 2, 4: 1, 5: 4}, "user")
    with client_of(root) as client:
        turns = client.get(f"/api/v1/readings/{name(1)}").json()["turns"]
        assert [each["turn"] for each in turns] == [name(1), name(4), name(5)]
        branches = turns[1]["branches"]
        assert [(each["turn"], each["here"]) for each in branches] == [(name(2), False), (name(4), True)]
        other = client.get(f"/api/v1/readings/{name(2)}").json()["turns"]
        assert [each["turn"] for each in other] == [name(1), name(2), name(3)]
        rows = client.get("/api/v1/trees/forks").json()["rows"]
        assert [row["lane"] for row in rows] == [0, 1, 1, 0, 0]


def test_results_of_calls_that_were_made_at_once_are_beside_the_path(root: Path) -> None:
    with Slicebase.open(root) as base:
        from slicebase.history.annotate import Annotator

        call = Part("tool_call", name="Bash", arguments={"command": "ls"}, call_id="c")
        result = Part("tool_result", text="done", call_id="c")
        turns = [
            Turn(name(1), "calls", "user", (Part("text", text="go"),), 1_700_000_000_000, (), "sha256:1"),
            Turn(name(2), "calls", "assistant", (call,), 1_700_000_001_000, (Parent(name(1)),), "sha256:2"),
            Turn(name(3), "calls", "assistant", (call,), 1_700_000_002_000, (Parent(name(2)),), "sha256:3"),
            Turn(name(4), "calls", "tool", (result,), 1_700_000_003_000, (Parent(name(2)),), "sha256:4"),
            Turn(name(5), "calls", "tool", (result,), 1_700_000_004_000, (Parent(name(3)),), "sha256:5"),
            Turn(
                name(6),
                "calls",
                "assistant",
                (Part("text", text="ok"),),
                1_700_000_005_000,
                (Parent(name(5)),),
                "sha256:6",
            ),
        ]
        base.truth.turns.add(Session("calls", "messages"), turns, Annotator(base.truth))
    with client_of(root) as client:
        turns_shown = client.get(f"/api/v1/readings/{name(1)}").json()["turns"]
    assert [(each["number"], each["beside"]) for each in turns_shown] == [
        (0, False), (1, False), (2, False), (3, True), (4, False), (5, False),
    ]  # fmt: skip
    assert not any(each["branches"] for each in turns_shown)


def test_the_id_of_a_session_may_hold_a_slash_and_a_hash(root: Path) -> None:
    odd = "a/b#agent-c/tree"
    add(root, odd, {1: None, 2: 1})
    with client_of(root) as client:
        for path in ("sessions", "trees", "lost"):
            assert client.get(f"/api/v1/{path}/{quote(odd, safe='')}").json()["session"] == odd


def test_a_whole_turn_has_the_text_that_evidence_counts(client: TestClient, root: Path) -> None:
    row = client.get(f"/api/v1/trees/{LONG}?first=42&limit=1").json()["rows"][0]
    found = client.get(f"/api/v1/turns/{row['turn'][:8]}").json()
    with Slicebase.open(root) as base:
        assert found["text"] == base.graph.turn(row["turn"]).text
    assert (found["session"], found["shown"]["number"]) == (LONG, 42)
    assert client.get(f"/api/v1/turns/{name(9)}").json()["code"] == "no-turn"


def test_a_purged_turn_says_so(root: Path) -> None:
    with client_of(root) as client:
        turn = client.get(f"/api/v1/trees/{LONG}?first=3&limit=1").json()["rows"][0]["turn"]
    with Slicebase.open(root) as base:
        base.purge(f"turn:{turn}", reason="a test")
    with client_of(root) as client:
        assert client.get(f"/api/v1/trees/{LONG}?first=3&limit=1").json()["rows"][0]["purged"]
        found = client.get(f"/api/v1/turns/{turn}").json()
    assert (found["text"], found["shown"]["purged"], found["shown"]["parts"]) == (None, True, [])


def test_a_session_that_grows_has_its_new_rows(root: Path) -> None:
    add(root, "live", {1: None, 2: 1})
    with client_of(root) as client:
        assert client.get("/api/v1/trees/live").json()["turns"] == 2
        add(root, "live", {3: 2, 4: 1})
        found = client.get("/api/v1/trees/live").json()
        assert [row["turn"] for row in found["rows"]] == [name(1), name(2), name(3), name(4)]
        assert found["branches"] == 2
        add(root, "live", {6: 5})  # its parent comes later
        assert client.get("/api/v1/trees/live").json()["branches"] == 3
        add(root, "live", {5: 4})
        late = client.get("/api/v1/trees/live").json()
        assert late["turns"] == 6
        assert late["rows"][4]["joins"] == 0
        assert late["rows"][5]["joins"] == 1 << late["rows"][4]["lane"]


def test_what_a_compaction_lost_has_references_into_its_turns(client: TestClient) -> None:
    found = client.get(f"/api/v1/lost/{LONG}?limit=3").json()
    (loss,) = found["compactions"]
    assert len(loss["lost"]) == 3
    for item in loss["lost"]:
        text = client.get(f"/api/v1/turns/{item['ref'].removeprefix('turn:')}").json()["text"]
        assert " ".join(text[item["span"]["start"] : item["span"]["end"]].split()) == " ".join(item["text"].split())
