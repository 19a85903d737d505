"""What a run knows over HTTP, and evidence in its place."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from slicebase import Slicebase

QUOTE = "stored in upper case"


@pytest.fixture
def turn(root: Path) -> str:
    """The reference of a turn that a claim of the run `codes` cites."""
    with Slicebase.open(root) as memory:
        memory.runs.start("codes", "How are codes compared?", "It is cited.")
        found = memory.cite(memory.context(QUOTE, 600, record=False).pieces[0].ref, QUOTE)
        memory.runs.claim("codes", "Upper case.", status="verified", cite=[found])
        for number in range(5):
            memory.runs.claim("codes", f"Perhaps {number}.")
            memory.runs.question("codes", f"Why {number}?")
        memory.runs.failure("codes", "1 failed", category="test", where="a.py")
        memory.runs.log("codes", [{"type": "CLAIM", "payload": {"claim_id": 7, "statement": ["no text"]}}])
        return found.chunk_id


def test_claims_have_their_quotes_and_are_listed_by_status(client: TestClient, turn: str) -> None:
    found = client.get("/api/v1/runs/codes/claims", params={"status": "verified"}).json()
    assert [claim["statement"] for claim in found["claims"]] == ["Upper case."]
    assert found["claims"][0]["evidence"][0]["quote"] == QUOTE
    assert found["statuses"] == {"verified": 1, "candidate": 6}


def test_claims_are_read_page_by_page_also_those_of_the_wrong_shape(client: TestClient, turn: str) -> None:
    cursor, seen = "", []
    while True:
        page = client.get("/api/v1/runs/codes/claims", params={"limit": 2, "cursor": cursor}).json()
        seen += [claim["statement"] for claim in page["claims"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == ["Upper case.", *(f"Perhaps {number}." for number in range(5)), "['no text']"]


def test_questions_and_failures_are_listed(client: TestClient, turn: str) -> None:
    first = client.get("/api/v1/runs/codes/questions", params={"limit": 3}).json()
    rest = client.get("/api/v1/runs/codes/questions", params={"limit": 3, "cursor": first["next"]}).json()
    assert [*first["questions"], *rest["questions"]] == [f"Why {number}?" for number in range(5)]
    failures = client.get("/api/v1/runs/codes/failures").json()["failures"]
    assert [(each["category"], each["where"], each["why"]) for each in failures] == [("test", "a.py", "1 failed")]


def test_evidence_is_shown_in_its_place(client: TestClient, turn: str) -> None:
    claims = client.get("/api/v1/runs/codes/claims").json()["claims"]
    name = claims[0]["evidence"][0]["evidence_id"]
    found = client.get(f"/api/v1/evidence/{name}", params={"around": 30}).json()
    assert (found["status"], found["sound"], found["quote"], found["chunk_id"]) == ("found", True, QUOTE, turn)
    assert found["now"] == found["span"]
    assert found["before"].endswith("a discount code is ")
    assert found["role"] == "assistant"


def test_evidence_of_a_purged_turn_says_so(client: TestClient, turn: str, root: Path) -> None:
    name = client.get("/api/v1/runs/codes/claims").json()["claims"][0]["evidence"][0]["evidence_id"]
    with Slicebase.open(root) as memory:
        memory.purge(turn)
    found = client.get(f"/api/v1/evidence/{name}").json()
    assert (found["status"], found["quote"], found["now"]) == ("purged", None, None)


def test_a_quote_in_a_list_says_whether_it_is_still_there(client: TestClient, root: Path, turn: str) -> None:
    with Slicebase.open(root) as memory:
        file = memory.library.create("Rounding", "How totals are rounded.", type="jsonl").id
        for text in ("A total is rounded once.", "Tax is rounded twice."):
            memory.library.remember(file, text)
        cites = [(f"file:{file}", "rounded once"), (f"file:{file}", "rounded twice"), (turn, QUOTE)]
        memory.runs.start("sums", "How is rounded?", "It is cited.")
        memory.runs.claim("sums", "In two ways.", status="verified", cite=cites)
        path = next((root / ".slices").glob(f"**/*{file}*"))
    path.write_text(path.read_text().replace("rounded once", "never rounded"))
    [claim] = client.get("/api/v1/runs/sums/claims").json()["claims"]
    assert [each["status"] for each in claim["evidence"]] == ["changed", "found", "found"]
    path.unlink()
    with Slicebase.open(root) as memory:
        memory.purge(turn)
    [claim] = client.get("/api/v1/runs/sums/claims").json()["claims"]
    assert [each["status"] for each in claim["evidence"]] == ["gone", "gone", "purged"]


def test_evidence_that_is_not_there_is_an_error(client: TestClient) -> None:
    answer = client.get(f"/api/v1/evidence/ev_{'0' * 32}")
    assert (answer.status_code, answer.json()["code"]) == (404, "no-evidence")


def test_a_chunk_of_a_document_is_shown_until_the_document_changes(client: TestClient, root: Path) -> None:
    (root / "doc.txt").write_text("The hall has 7 shelves. " * 300)
    with Slicebase.open(root) as memory:
        chunks = memory.add(root / "doc.txt").chunks
    ref, text = chunks[1].chunk_id, chunks[1].text
    found = client.get("/api/v1/chunk", params={"ref": ref, "start": 4, "end": 8}).json()
    assert (found["before"], found["cited"], found["after"]) == (text[:4], text[4:8], text[8:])
    (root / "doc.txt").write_text("Another text.")
    assert client.get("/api/v1/chunk", params={"ref": ref}).json()["code"] == "no-chunk"
    assert client.get("/api/v1/chunk", params={"ref": "turn:x"}).status_code == 400
