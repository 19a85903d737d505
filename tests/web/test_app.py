"""The application: methods, addresses, errors, and that what reads writes nothing."""

import shutil
from pathlib import Path
from threading import Event, Thread
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from slicebase.base import Slicebase
from slicebase.core.parsers import read_json
from slicebase.web import endpoints
from slicebase.web.api.table import ENDPOINTS
from slicebase.web.endpoints import cursor_of
from slicebase.web.pages import views
from slicebase.web.routes import ApiRoutes
from tests.web.conftest import client_of

TURN = "0961d9aa-a012-46c7-b376-16f70598151d"
OTHER_METHODS = ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
SECRET = "gh" + "p_" + "7hQ2mZ9xK4vB8nR1cT6wY3jL5sD0fG2aE9uP"  # invented, and built at run time


def test_the_status_of_a_workspace_is_an_answer_of_the_api(client: TestClient) -> None:
    answer = client.get("/api/v1/status")
    assert answer.status_code == 200
    assert answer.json()["sessions"] == 2


@pytest.mark.parametrize("method", OTHER_METHODS)
@pytest.mark.parametrize("path", ["/api/v1/status", "/health", "/", "/static/app.js", "/api/v1/openapi.json"])
def test_another_method_is_refused_with_those_that_are_allowed(writer: TestClient, method: str, path: str) -> None:
    answer = writer.request(method, path)
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "wrong-method"


def test_reading_an_address_that_writes_is_refused(writer: TestClient) -> None:
    answer = writer.get("/api/v1/remember")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_head_has_the_headers_of_get(client: TestClient) -> None:
    for path in ("/api/v1/status", "/", "/static/app.js", "/health"):
        assert client.head(path).status_code == client.get(path).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/api", "/api/", "/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v2/x", "/static/%2E%2E/app.py", "/static/x"],
)
def test_an_unknown_address_of_the_api_is_a_problem(writer: TestClient, path: str) -> None:
    for method in ("GET", *OTHER_METHODS):
        answer = writer.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (404, "no-address"), method


def test_an_address_that_nothing_has_allows_no_method(writer: TestClient) -> None:
    for method in OTHER_METHODS:
        answer = writer.request(method, "/nothing")
        assert (answer.status_code, answer.json()["code"]) == (404, "no-address"), method


@pytest.mark.parametrize("path", ["/health", "/api/v1/changes", "/api/v1/verify/progress", "/api/v1/openapi.json"])
def test_what_has_no_parameters_refuses_them(client: TestClient, path: str) -> None:
    answer = client.get(f"{path}?x=1")
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-arguments")


def test_every_view_has_its_page_and_other_addresses_the_page_with_status_404(client: TestClient) -> None:
    assert len(views()) > 8
    for view in views():
        answer = client.get("/" + "/".join("a%2Fb" if part == "*" else part for part in view))
        assert answer.status_code == 200
        assert "<main" in answer.text or "app" in answer.text
    for path in ("/nothing", "/session", "/session/a/b", "/proof/how"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")


def test_every_endpoint_is_found_at_its_own_address() -> None:
    routes = ApiRoutes(ENDPOINTS)
    for each in ENDPOINTS:
        path = each.path
        for name in each.in_path:
            path = path.replace(f"{{{name}:path}}", "x/y").replace(f"{{{name}}}", "x")
        found = routes.find(each.method, f"/api/v1{path}")
        assert found
        assert found.endpoint.path == each.path


@pytest.mark.parametrize("path", ["/static/app.js", f"/api/v1/slices/{TURN}"])
def test_what_has_a_tag_is_not_sent_again_to_a_client_that_has_it(client: TestClient, path: str) -> None:
    first = client.get(path)
    etag = first.headers["etag"]
    for known in (etag, f"W/{etag}", f'"a", W/"b,c" ,{etag}', "*"):
        again = client.get(path, headers={"if-none-match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag), known
        assert "content-length" not in again.headers
    several = [("if-none-match", '"a"'), ("if-none-match", etag)]
    assert client.get(path, headers=several).status_code == 304
    for other in ('"a"', "", etag.strip('"'), f'"x{etag.strip(chr(34))}"', '"*"'):
        again = client.get(path, headers={"if-none-match": other})
        assert (again.status_code, again.content) == (200, first.content), other


def test_parameters_that_do_not_fit_are_refused(client: TestClient) -> None:
    for query in ("unknown=1", "max_nodes=many", "max_nodes=1&max_nodes=2", "policy=%ff", "policy=" + "x" * 300):
        answer = client.get(f"/api/v1/slices/{TURN}?{query}")
        assert (answer.status_code, answer.json()["code"]) == (400, "bad-arguments"), query


def test_no_file_of_the_machine_is_read_as_a_policy(client: TestClient, tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text('{"max_nodes": 3}')
    for path in (f"slices/{TURN}", f"slices/{TURN}/drawn", "context"):
        more = {"q": "codes"} if path == "context" else {}
        answer = client.get(f"/api/v1/{path}", params={"policy": str(file), **more})
        assert answer.json()["code"] == "unknown-policy", path


def test_an_error_does_not_repeat_a_secret(client: TestClient) -> None:
    for path in (f"/api/v1/slices/{TURN}?policy={SECRET}", f"/api/v1/slices/{SECRET}", f"/api/v1/status?{SECRET}=1"):
        answer = client.get(path)
        assert answer.status_code in (400, 404, 422)
        assert SECRET[:14] not in answer.text


def test_a_slice_is_the_same_the_first_time_and_from_the_cache(client: TestClient, root: Path) -> None:
    with Slicebase.open(root) as memory:
        export = memory.graph.select(TURN).export
    for _ in range(3):
        answer = client.get(f"/api/v1/slices/{TURN}")
        assert answer.content == export
        assert client.get(f"/api/v1/slices/turn:{TURN[:8]}").content == export


def test_a_workspace_without_a_database_is_empty_and_stays_without(tmp_path: Path) -> None:
    Slicebase.init(tmp_path).close()
    before = sorted(path for path in tmp_path.rglob("*") if "cache" not in path.parts)
    with client_of(tmp_path) as client:
        assert client.get("/api/v1/status").json()["turns"] == 0
        assert client.get("/health").status_code == 200
        assert client.get(f"/api/v1/slices/{TURN}").status_code == 404
        assert sorted(path for path in tmp_path.rglob("*") if "cache" not in path.parts) == before
        with Slicebase.open(tmp_path) as memory:  # another process imports something
            memory.import_(_sample())
        assert client.get(f"/api/v1/slices/{TURN}").status_code == 200


def _sample() -> list[Path]:
    import slicebase

    return [Path(slicebase.__file__).parent / "samples/long-session.jsonl"]


def test_a_server_of_a_memory_that_does_not_answer_is_no_fault_of_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("SLICEBASE_URL", f"postgresql:///x?host={tmp_path}")  # nothing listens there
    Slicebase.init(tmp_path / "here").close()
    with client_of(tmp_path / "here") as client:
        answer = client.get("/api/v1/sessions")
        assert (answer.status_code, answer.json()["code"]) == (503, "no-server")
        assert client.get("/health").status_code == 503


def test_a_database_that_is_gone_is_a_problem_until_it_is_back(root: Path, tmp_path: Path) -> None:
    with client_of(root) as client, Slicebase.open(root) as memory:
        assert client.get(f"/api/v1/slices/{TURN}").status_code == 200
        database = memory.workspace.database
        memory.close()
        away = tmp_path / "away.db"
        database.rename(away)
        answer = client.get(f"/api/v1/slices/{TURN}")
        assert (answer.status_code, answer.json()["code"]) == (503, "database-lost")
        assert answer.headers["retry-after"]
        assert client.get("/health").status_code == 503
        database.write_bytes(away.read_bytes()[:5000])
        assert client.get(f"/api/v1/slices/{TURN}").status_code == 503
        database.write_bytes(b"not a database" * 1000)
        assert client.get(f"/api/v1/slices/{TURN}").status_code == 503
        away.rename(database)
        assert client.get(f"/api/v1/slices/{TURN}").status_code == 200
        assert client.get("/health").json()["status"] == "ok"


def test_a_database_that_is_put_back_in_place_without_its_log_is_shown_again(root: Path) -> None:
    with client_of(root, write=True) as client, Slicebase.open(root) as memory:
        database = memory.workspace.database
        memory.close()
        fine = database.read_bytes()
        paths = ("/health", "/api/v1/status", f"/api/v1/slices/{TURN}", "/api/v1/sessions")
        for path in paths:
            assert client.get(path).status_code == 200
        with database.open("r+b") as file:
            file.write(b"not a database" * 1000)
        assert client.get("/health").status_code == 503
        database.write_bytes(fine)
        for end in ("-wal", "-shm"):
            database.with_name(database.name + end).unlink(missing_ok=True)
        for path in paths:
            client.get(path)  # the first one may still find what is left
        for path in paths:
            assert client.get(path).status_code == 200
        assert client.post("/api/v1/run/start", json={"objective": "An aim", "done": "When done"}).status_code == 200


@pytest.mark.parametrize("path", ["/api/v1/search?q=retry", "/api/v1/status"])
def test_files_without_the_turns_of_a_lost_or_damaged_database_are_no_answer(root: Path, path: str) -> None:
    with client_of(root) as client, Slicebase.open(root) as memory:
        fine = client.get(path).json()
        database, away = memory.workspace.database, root.parent / "away.db"
        database.rename(away)
        for _ in range(2):  # the workspace that is opened again has never seen it
            assert client.get(path).json()["code"] == "database-lost"
        for damaged in (away.read_bytes()[:5000], b"not a database" * 1000, b""):
            database.write_bytes(damaged)
            assert client.get(path).status_code == 503
        away.rename(database)
        again = client.get(path).json()
        assert [again.get(name) for name in ("total_turns", "turns")] == [fine.get(n) for n in ("total_turns", "turns")]


@pytest.mark.parametrize("path", ["/health", "/api/v1/sessions", f"/api/v1/slices/{TURN}"])
def test_a_folder_that_is_gone_with_its_database_is_a_problem_until_it_is_back(root: Path, path: str) -> None:
    with client_of(root, write=True) as client:
        assert client.get(path).status_code == 200
        for folder, code in ((root / ".slicebase", "database-lost"), (root, "no-workspace")):
            away = folder.rename(root.parent / "away")
            answer = client.get(path)
            assert (answer.status_code, answer.json()["code"]) == (503, code)
            written = client.post("/api/v1/create", json={"title": "A title", "summary": "A summary."})
            assert (written.status_code, written.json()["code"]) == (503, code)
            assert folder == root or not (folder / "slicebase.db").exists()
            shutil.rmtree(folder, ignore_errors=True)  # indexes
            away.rename(folder)
            assert client.get(path).status_code == 200


@pytest.mark.parametrize("broken", ["not toml", "[redaction]\nrules = 'gone.toml'\n", "[graph]\nnothing = 1\n"])
def test_settings_that_cannot_be_read_are_a_problem_of_the_server_until_they_can(root: Path, broken: str) -> None:
    with client_of(root, write=True) as client:
        paths = ("/api/v1/status", "/api/v1/files", "/api/v1/search?q=retry")
        file = root / "slicebase.toml"
        before = file.read_bytes() if file.exists() else b""
        for _ in range(2):
            assert [client.get(path).status_code for path in paths] == [200] * len(paths)
            file.write_text(broken)
            answers = [client.get(path) for path in paths]
            answers.append(client.post("/api/v1/create", json={"title": "T", "summary": SECRET}))
            for answer in answers:
                assert answer.status_code == 200 or (answer.status_code, answer.json()["code"]) == (503, "bad-setting")
            assert any(answer.status_code == 503 for answer in answers)
            file.write_bytes(before)


@pytest.mark.parametrize(
    ("body", "headers", "code"),
    [
        (b'{"title": "T", "summary": "S", "title": "U"}', {}, "bad-json"),
        (b'{"run": "r", "events": [{"type": "note", "payload": {"a": 1, "a": 2}}]}', {}, "bad-json"),
        (b'{"title": "T", "summary": "S", "confidence": NaN}', {}, "bad-json"),
        (b'{"title": "T", "summary": "\\ud800"}', {}, "bad-json"),
        (b'{"title": "T", "summary": "S"}', {"content-encoding": "gzip"}, "wrong-media-type"),
        (b'{"title": "T", "summary": "S"}', {"content-type": "text/plain"}, "wrong-media-type"),
    ],
)
def test_a_body_that_can_be_read_in_two_ways_is_refused(
    writer: TestClient, body: bytes, headers: dict[str, str], code: str
) -> None:
    answer = writer.post("/api/v1/create", content=body, headers={"content-type": "application/json", **headers})
    assert answer.json()["code"] == code


def test_a_long_body_is_read_beside_the_event_loop(writer: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    reads, goes_on = Event(), Event()
    was_waited_for = []

    def read(*given: Any, **named: Any) -> Any:
        reads.set()
        was_waited_for.append(goes_on.wait(20))
        return read_json(*given, **named)

    monkeypatch.setattr(endpoints, "read_json", read)
    body = {"title": "T", "summary": "S", "body": "x" * 100_000}
    answers: list[Any] = []
    asks = Thread(target=lambda: answers.append(writer.post("/api/v1/create", json=body)))
    asks.start()
    assert reads.wait(20)
    assert writer.get("/api/v1/status").status_code == 200
    goes_on.set()
    asks.join()
    assert answers[0].status_code == 200
    assert was_waited_for == [True]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the body is empty"),
        (b" \n", "the body is empty"),
        (b'{"title": "T", "summary": "\\ud800"}', "a part of a character"),
        (b'{"title": "T", "summary": "\\udc00\\ud800"}', "a part of a character"),
        (b'{"title": "T"', "truncated"),
        (b"[]", "object"),
    ],
)
def test_a_body_that_is_no_object_is_named_as_what_it_is(writer: TestClient, body: bytes, said: str) -> None:
    answer = writer.post("/api/v1/create", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-json")
    assert said in answer.json()["detail"]


def test_what_is_not_signed_takes_no_signature(writer: TestClient) -> None:
    for path, body in (("compact", {"run": "r"}), ("stop", {"run": "r", "reason": "OBJECTIVE_ACHIEVED"})):
        assert writer.post(f"/api/v1/run/{path}", json=body).json()["code"] == "no-run"
        assert writer.post(f"/api/v1/run/{path}", json={**body, "agent": "ann"}).json()["code"] == "bad-arguments"


def test_a_cursor_of_another_list_is_refused(client: TestClient) -> None:
    """It would leave entries out without a word: of another order, another filter, another address."""
    lists = ("sessions", "sessions?query=retry", "files", "files?order=title", "manifests", "runs", "seals", "stale")
    for one in lists:
        asked: Any = next(each for each in ENDPOINTS if each.path == f"/{one.partition('?')[0]}").asked
        query = dict(part.split("=") for part in one.partition("?")[2].split("&") if part)
        cursor = cursor_of(msgspec.convert(query, asked), "1")
        for other in lists:
            mark = "&" if "?" in other else "?"
            answer = client.get(f"/api/v1/{other}{mark}cursor={cursor}").json()
            assert one == other or answer["code"] == "bad-cursor"
    used = [each.asked for each in ENDPOINTS if "cursor" in each.asked.__struct_fields__ and not each.in_path]
    assert len(used) == len(set(used))  # the name of the type is a part of the cursor


NAMES = (
    '[99999999999999999999999,0,"a","b"]', '["a",0,"a","b"]', '[0,-99999999999999999999,"a","b"]', '[1e400,0,"a","b"]',
    '[0,0,"\\ud800","b"]', "[" * 5000, "-1", "9" * 15, "9" * 400, "", "\0", "turn:x#1/2", "run:a", "ev_1", "a\nb", "😀",
)  # fmt: skip


@pytest.mark.parametrize(
    "endpoint", [each for each in ENDPOINTS if "cursor" in each.asked.__struct_fields__], ids=lambda each: each.path
)
def test_a_cursor_that_was_made_by_hand_is_a_place_or_refused(writer: TestClient, endpoint: Any) -> None:
    file = writer.post("/api/v1/create", json={"title": "T", "summary": "S", "type": "jsonl"}).json()["id"]
    run = writer.post("/api/v1/run/start", json={"objective": "An aim", "done": "When done"}).json()["id"]
    known = {"id": file, "run": run, "owner": run}
    orders = ("changed", "oldest", "title", "type") if endpoint.path == "/files" else ("",)
    in_path = {name: known[name] for name in endpoint.in_path}
    path = "/api/v1" + endpoint.path.format(**in_path)
    for name in NAMES:
        for order in orders:
            more = {"order": order} if order else {}
            cursor = cursor_of(msgspec.convert({**in_path, **more}, endpoint.asked), name)
            answer = writer.get(path, params={"cursor": cursor, **more})
            if len(cursor) <= 1000:
                assert answer.status_code == 200 or answer.json()["code"] in ("bad-cursor", "write-mode"), answer.json()
