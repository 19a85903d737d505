"""Who may ask: the name of the server, the page that asks, the token."""

import http.client
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from slicebase.base import Slicebase
from slicebase.errors import SlicebaseError, Where
from slicebase.web.admission import LONGEST_BODY, Admission, Guarded, admission_for
from slicebase.web.app import application
from slicebase.web.pages import strict_headers
from slicebase.web.problems import answer_to
from slicebase.web.server import listen, url_of
from tests.web.conftest import TOKEN, client_of

STATUS = "/api/v1/status"


def code_of(answer: object) -> object:
    return answer.json()["code"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[::2]", "127.0.0.1:80:80", "a b"])
def test_a_name_that_is_not_the_servers_is_refused(client: TestClient, host: str) -> None:
    answer = client.get(STATUS, headers={"host": host})
    assert (answer.status_code, code_of(answer)) == (403, "other-origin")


@pytest.mark.parametrize("host", ["127.0.0.1:7358", "LOCALHOST", "localhost.:1", "[::1]:7358"])
def test_the_names_of_this_machine_are_the_servers(client: TestClient, host: str) -> None:
    assert client.get(STATUS, headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9", "file://127.0.0.1", "x"])
def test_a_page_of_another_site_is_refused(client: TestClient, origin: str) -> None:
    assert client.get(STATUS, headers={"origin": origin}).status_code == 403


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1", "http://127.0.0.1"),
        ("127.0.0.1:80", "http://127.0.0.1"),
        ("localhost:443", "https://localhost"),
        ("localhost", "https://LOCALHOST:443"),
        ("[::1]:7358", "http://[::1]:7358"),
    ],
)
def test_a_page_of_the_server_may_ask(client: TestClient, host: str, origin: str) -> None:
    assert client.get(STATUS, headers={"host": host, "origin": origin}).status_code == 200


@pytest.mark.parametrize(
    ("host", "origin"),
    [("127.0.0.1:80", "https://127.0.0.1"), ("127.0.0.1", "http://127.0.0.1:443"), ("127.0.0.1", "http://")],
)
def test_another_port_is_another_site(client: TestClient, host: str, origin: str) -> None:
    assert client.get(STATUS, headers={"host": host, "origin": origin}).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_page_of_another_server_loads_is_refused_but_a_link_may_lead_here(client: TestClient, site: str) -> None:
    assert client.get(STATUS, headers={"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}).status_code == 403
    assert client.get("/", headers={"sec-fetch-site": site, "sec-fetch-mode": "navigate"}).status_code == 200


def test_writing_needs_the_token(root: Path) -> None:
    with client_of(root, write=True) as client:
        body = {"title": "T", "summary": "S"}
        for token in ("", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
            answer = client.post("/api/v1/create", json=body, headers={"authorization": token})
            assert (answer.status_code, code_of(answer)) == (401, "no-admission")
            assert answer.headers["www-authenticate"] == "Bearer"
        assert client.post("/api/v1/create", json=body).status_code == 200


def test_a_server_that_only_reads_has_no_address_that_writes(client: TestClient) -> None:
    for headers in ({}, {"authorization": f"Bearer {TOKEN}"}):
        answer = client.post("/api/v1/create", json={}, headers=headers)
        assert (answer.status_code, code_of(answer)) == (404, "no-address")
    assert client.post(STATUS).status_code == 405


def remote_admission(token: str) -> Admission:
    return admission_for("0.0.0.0", ["memory.example"], token, this_machine="desk")


def remote(root: Path) -> TestClient:
    app = application(lambda: Slicebase.open(root, root, create=False), remote_admission(TOKEN))
    return TestClient(app, base_url="http://192.0.2.7:7358", follow_redirects=False)


def test_on_another_address_everything_needs_the_token(root: Path) -> None:
    with remote(root) as client:
        for path in ("/", STATUS, "/health", "/static/app.js", "/api/v1/openapi.json", "/api/v1/changes"):
            assert client.get(path).status_code == 401
            assert client.head(path).status_code == 401
        assert client.get(STATUS, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
        for host in ("memory.example", "desk:7358", "[2001:db8::1]:7358"):
            assert client.get(STATUS, headers={"authorization": f"Bearer {TOKEN}", "host": host}).status_code == 200
        assert client.get(STATUS, headers={"authorization": f"Bearer {TOKEN}", "host": "x.example"}).status_code == 403


def test_the_token_of_the_first_address_becomes_a_cookie_and_leaves_the_address(root: Path) -> None:
    with remote(root) as client:
        answer = client.get(f"/session/a%23b?token={TOKEN}&turn=1")
        assert answer.status_code == 303
        assert answer.headers["location"] == "/session/a%23b?turn=1"
        assert {"HttpOnly", "SameSite=Lax"} <= set(answer.headers["set-cookie"].split("; "))
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert client.get(STATUS).status_code == 200  # with the cookie


@pytest.mark.parametrize("path", ["/session/a%2Fb%23c", "/session/x%3Fy", "/file/%E2%82%AC", "/file/a:b@c;d=e,f(g)'h"])
def test_a_name_with_a_slash_is_the_same_one_after_the_token_has_left_its_address(root: Path, path: str) -> None:
    with remote(root) as client:
        assert client.get(f"{path}?token={TOKEN}").headers["location"] == path


@pytest.mark.parametrize("token", ["q8+Zr/5kT0a==wXy7", "a;b&c#d%41,\"e'f\\\\ghijk"])
def test_a_token_may_have_any_printable_character(root: Path, token: str) -> None:
    with listen("127.0.0.1", 0) as opened:
        place = urlsplit(url_of(opened, "127.0.0.1", token))
    app = application(lambda: Slicebase.open(root, root, create=False), remote_admission(token))
    with TestClient(app, base_url="http://192.0.2.7:7358", follow_redirects=False) as client:
        answer = client.get(f"/?{place.query}")
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"].partition(";")[0]
        client.cookies.clear()
        for cookies in (cookie, f'{{"other": [1]}}; of[another]=x y; {cookie}'):
            assert client.get(STATUS, headers={"cookie": cookies}).status_code == 200
        assert client.get(STATUS, headers={"cookie": cookie[:-1]}).status_code == 401


@pytest.mark.parametrize(
    "path", ["//evil.example/", "/\\evil.example/", "/%5Cevil.example", "/%2F%2Fevil.example", "/\\/x"]
)
def test_the_redirect_leads_to_no_other_host(root: Path, path: str) -> None:
    admission = Admission(token=TOKEN.encode())
    app = application(lambda: Slicebase.open(root, root, create=False), admission)
    with TestClient(app, base_url="http://127.0.0.1", follow_redirects=False) as client:
        place = client.get(f"http://127.0.0.1{path}?token={TOKEN}").headers["location"]
        assert place.startswith("/")
        assert not place.startswith(("//", "/\\"))


def test_a_wrong_token_in_the_address_sets_no_cookie(root: Path) -> None:
    with remote(root) as client:
        answer = client.get("/?token=wrong")
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers


def test_large_requests_are_refused(writer: TestClient) -> None:
    assert writer.get(f"{STATUS}?x={'a' * 20_000}").status_code == 413
    assert writer.post("/api/v1/create", content=b"x" * (LONGEST_BODY + 1)).status_code == 413


def test_a_large_body_without_a_length_is_refused(writer: TestClient) -> None:
    chunks = (b"x" * 100_000 for _ in range(60))
    answer = writer.post("/api/v1/create", content=chunks, headers={"content-type": "application/json"})
    assert (answer.status_code, code_of(answer)) == (413, "request-size")


def test_every_answer_keeps_a_browser_strict(client: TestClient) -> None:
    for path in ("/", STATUS, "/nothing", "/api/v1/nothing", "/health", "/static/app.js"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
    assert http.client.responses[client.get("/", headers={"host": "evil.example"}).status_code] == "Forbidden"


def test_under_another_name_everything_needs_the_token(root: Path) -> None:
    """Another name is for a proxy, and through it other machines ask."""
    admission = admission_for("127.0.0.1", ["Memory.Example."], TOKEN, this_machine="desk")
    app = application(lambda: Slicebase.open(root, root, create=False), admission)
    with TestClient(app) as client:
        for host in ("memory.example", "127.0.0.1"):
            assert client.get(STATUS, headers={"host": host}).status_code == 401
            given = {"host": host, "authorization": f"Bearer {TOKEN}"}
            assert client.get(STATUS, headers=given).status_code == 200
    assert admission_for("127.0.0.1", ["localhost"], TOKEN, this_machine="desk").reads_freely


@pytest.mark.parametrize("name", ["", "http://memory.example", "memory.example:80", "a b", "[::1]"])
def test_what_is_no_name_is_refused_as_one(name: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        admission_for("127.0.0.1", [name], TOKEN, this_machine="desk")
    assert caught.value.code == "usage"


def test_a_bug_is_a_problem_with_strict_headers_and_names_no_value() -> None:
    async def app(scope: object, receive: object, send: object) -> None:
        raise ValueError("a value of somebody")

    client = TestClient(Guarded(app, Admission(), strict_headers()), base_url="http://127.0.0.1")
    answer = client.get("/")
    assert (answer.status_code, code_of(answer)) == (500, "server-failed")
    assert "content-security-policy" in answer.headers
    assert "somebody" not in answer.text


def test_a_place_that_is_not_utf_8_is_shown_in_a_problem() -> None:
    error = SlicebaseError("database-lost", "gone", hint="look at \udce9", where=Where("caf\udce9"))
    _, body, _ = answer_to(error)
    assert b"caf\\\\udce9" in body
