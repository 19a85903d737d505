"""Verbs that write over HTTP: the same doors, contracts and names as on the command line."""

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from slicebase.base import Slicebase
from slicebase.cli.commands import LISTED, POLICY_VERBS, RUN_VERBS
from slicebase.web.api.table import ENDPOINTS

SECRET = "gh" + "p_" + "7hQ2mZ9xK4vB8nR1cT6wY3jL5sD0fG2aE9uP"  # invented, and built at run time

# Verbs that the API does not have, and why.
ABSENT = {
    "init": "sets up a folder",
    "uninit": "removes what `init` set up",
    "config": "changes how the machine works with the workspace",
    "library.purge": "cannot be undone: a person at a terminal is asked first",
    "import_": "reads files of the machine",
    "add": "reads files of the machine",
    "export": "writes files of the machine",
    "backup": "writes a file of the machine",
    "restore_backup": "reads files of the machine, into a workspace that has no memory yet",
    "export_workspace": "writes files of the machine",
    "import_workspace": "reads files of the machine",
    "hooks": "changes the settings of other programs",
    "agents_md": "changes files of the repository",
    "graph.turns": "`graph.tree` and `graph.reading` read a session page by page",
    "policies.export": "`policies.show` has the same object",
    "policies.import_": "reads files of the machine",
    "runs.from_session": "takes too long for an answer",
}


def post(client: TestClient, verb: str, **body: Any) -> Any:
    answer = client.post(f"/api/v1/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, verb: str, **body: Any) -> tuple[int, str]:
    answer = client.post(f"/api/v1/{verb}", json=body)
    return answer.status_code, answer.json()["code"]


def test_a_file_is_created_written_linked_archived_and_restored(writer: TestClient, root: Path) -> None:
    log = post(writer, "create", title="Log", summary="S", type="jsonl", contract=["write=supersede"])["id"]
    first = post(writer, "remember", id=log, text="Retries stop after 5.", agent="ann", source="observation")
    again = post(writer, "remember", id=log, text="Retries stop after 7.", supersedes=[first["refs"][0].split("/")[-1]])
    assert again["changed"]
    other = post(writer, "create", title="Other", summary="S", body="Text")["id"]
    post(writer, "connect", id=log, rel="depends_on", to=other, label="why")
    post(writer, "define", id=other, assignments=["meta.owner=ann"])
    post(writer, "disconnect", id=log, rel="depends_on", to=other)
    assert post(writer, "forget", id=other, reason="old", dry_run=True)["changed"]
    post(writer, "forget", id=other, reason="old")
    post(writer, "restore", id=other)
    with Slicebase.open(root) as memory:
        data = (memory.workspace.library / f"{log}.slice").read_text()
        assert '"agent":"ann"' in data.replace(" ", "")
        assert '"agent":"web"' in data.replace(" ", "")
        assert memory.library.info(other).entry.title == "Other"


def test_a_contract_decides_what_may_be_written(writer: TestClient) -> None:
    file = post(writer, "create", title="T", summary="S", body="Text", contract=["write=append"])["id"]
    assert refused(writer, "remember", id=file, text="x", replace="Text")[0] == 422
    assert refused(writer, "remember", id="01M7PZDHKX676295AMWPSTPZMA", text="x") == (404, "no-file")
    version = post(writer, "remember", id=file, text="More.")["version"]
    post(writer, "remember", id=file, text="Other.")
    assert refused(writer, "remember", id=file, text="x", if_version=version) == (409, "conflict")


def test_a_secret_is_replaced_at_the_door(writer: TestClient, root: Path) -> None:
    created = post(writer, "create", title="T", summary="S", body=f"use {SECRET}", agent=f"{SECRET}")
    assert created["redacted"]
    post(writer, "run/start", id="r", objective=f"use {SECRET}", done="d")
    files = [path for path in root.rglob("*") if path.is_file()]
    assert not [path for path in files if SECRET[:14].encode() in path.read_bytes()]


def test_a_run_is_logged_with_its_writer_and_stopped(writer: TestClient, root: Path) -> None:
    turn = "turn:0961d9aa-a012-46c7-b376-16f70598151d"
    evidence = post(writer, "cite", reference=turn, quote="compared without regard to case")["evidence_id"]
    assert post(writer, "run/start", id="r", objective="o", done="d", agent="ann") == {"id": "r"}
    assert post(writer, "run/log", run="run:r", events=[{"type": "ACT_DONE", "step": 1}])["last"] > 1
    claim = post(writer, "run/claim", run="r", statement="S.", status="verified", evidence=[{"ref": evidence}])
    assert claim["ref"] == "claim:r/c1"
    assert refused(writer, "run/claim", run="r", statement="S.", status="verified") == (422, "gate-would-refuse")
    post(writer, "run/question", run="r", text="Why?")
    failed = post(writer, "run/failure", run="r", why="w", category="c", where="x")["id"]
    post(writer, "run/failure", run="r", id=failed, resolve=True)
    post(writer, "run/allow-loop", run="r", reason="polling", steps=3)
    assert post(writer, "run/compact", run="r")["snapshots"]
    assert post(writer, "run/fork", run="r", id="r2") == {"id": "r2"}
    assert post(writer, "run/stop", run="r", reason="OBJECTIVE_ACHIEVED")["stopped"] == "OBJECTIVE_ACHIEVED"
    assert refused(writer, "run/question", run="r", text="More?") == (422, "run-closed")
    with Slicebase.open(root) as memory:
        assert "ann" in str([event.payload for event in memory.runs.events("r")])
        assert memory.verify().status == "VERIFIED"


def test_a_policy_is_saved_by_name_and_never_read_from_a_file(writer: TestClient, tmp_path: Path) -> None:
    saved = post(writer, "policies/save", name="small", base="focused", assignments=["max_nodes=3"])
    assert saved["names"] == ["small"]
    (tmp_path / "p.json").write_text("{}")
    assert refused(writer, "policies/save", name="other", base=str(tmp_path / "p.json")) == (404, "unknown-policy")
    assert post(writer, "seal")["sessions"] == 2


def test_bodies_that_do_not_fit_are_refused(writer: TestClient) -> None:
    for content in (b"", b"[]", b"{", b"[" * 100_000, b"\xff", b'{"title": "\\ud800", "summary": "s"}'):
        answer = writer.post("/api/v1/create", content=content, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 422), content[:20]
    assert writer.post("/api/v1/create", data={"title": "T"}).status_code == 415
    assert refused(writer, "create", title="T", summary="S", path="/etc/passwd") == (400, "bad-arguments")


def test_every_verb_is_in_the_api_or_has_a_reason_not_to_be() -> None:
    verbs = {each.python for each in LISTED.values() if each.python} - {"runs", "policies"}
    verbs |= {*RUN_VERBS.values(), *POLICY_VERBS.values()}
    offered = {each.verb.replace("finder.", "library.") for each in ENDPOINTS} | {"verify"}
    assert not (offered & ABSENT.keys())
    missing = verbs - offered - ABSENT.keys()
    assert not missing, f"these verbs are neither in the API nor in the list: {sorted(missing)}"


def test_what_writes_takes_nothing_from_its_address(writer: TestClient) -> None:
    answer = writer.post("/api/v1/create?title=Other", json={"title": "Log", "summary": "S"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-arguments")
    answer = writer.post("/api/v1/create?title=Other", json={"summary": "S"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-arguments")


def test_what_was_due_is_done_and_a_narrative_is_written(writer: TestClient, root: Path) -> None:
    contract = ["cleanup=Summarize when over 1 entries.", "write=append"]
    lines = '{"text": "one"}\n{"text": "two"}\n'
    file = post(writer, "create", title="T", summary="S", type="jsonl", body=lines, contract=contract)["id"]
    assert file in [each["id"] for each in writer.get("/api/v1/due").json()["files"]]
    assert post(writer, "due/done", id=file, agent="ann")["changed"]
    assert writer.get(f"/api/v1/files/{file}").json()["done"]["at"]
    run = post(writer, "run/start", objective="An aim", done="When done")["id"]
    assert refused(writer, "run/narrative", run=run) == (404, "no-snapshot")
    post(writer, "run/compact", run=run)
    made = [post(writer, "run/narrative", run=run) for _ in range(2)]
    assert [each["written"] for each in made] == [True, False]
    assert made[0]["file_id"] in [each["id"] for each in writer.get("/api/v1/files").json()["files"]]
