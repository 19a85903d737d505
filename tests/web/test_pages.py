"""The files of the pages: vendored ones are as their makers published them, and nothing is loaded from elsewhere."""

import hashlib
import json
import re

import pytest
from starlette.testclient import TestClient

from slicebase.web import pages
from slicebase.web.pages import FOLDER, page_files, strict_headers
from tests.paths import PROJECT

VENDOR = FOLDER / "vendor"


def test_vendored_files_are_unchanged_and_have_their_licences() -> None:
    listed = json.loads((VENDOR / "vendored.json").read_text())
    names = {each["file"] for each in listed} | {each["licence_file"] for each in listed} | {"vendored.json"}
    assert {path.name for path in VENDOR.iterdir()} == names
    for each in listed:
        assert hashlib.sha256((VENDOR / each["file"]).read_bytes()).hexdigest() == each["sha256"], each["file"]
        assert (VENDOR / each["licence_file"]).stat().st_size > 500


def test_no_page_of_ours_names_another_host() -> None:
    for name, file in page_files().items():
        if not name.startswith("vendor/"):
            named = set(re.findall(rb"https?://[\w.-]+", file.data)) - {b"http://www.w3.org", b"http://page"}
            assert not named, name


def test_the_pages_use_only_characters_that_common_fonts_have() -> None:
    """Nothing is loaded, so another character is an empty box on a machine without a font that has it."""
    common = set("·×–“”…‹›←→↳▸▾")
    for name, file in page_files().items():
        if not name.startswith("vendor/"):
            assert {each for each in file.data.decode() if ord(each) > 0x7E} <= common, name


def test_the_addresses_of_the_document_work(client: TestClient) -> None:
    page = (PROJECT / "docs/serve.md").read_text()
    addresses = re.findall(r"curl -s http://127\.0\.0\.1:7358(\S+)\n", page)
    assert len(addresses) >= 2
    for address in addresses:
        assert client.get(address).status_code == 200


def test_no_table_of_ours_knows_the_names_that_every_object_of_javascript_has() -> None:
    """Ids, roles and states are texts of others: `constructor` and `__proto__` are names like all others."""
    table = re.compile(r"^(?:export )?const [A-Z_]+ = \{(?!\s*__proto__: null,).*$", re.MULTILINE)
    member = re.compile(r"(?:=> |\(|!)[\w.]+ in [\w.]+(?=\)| &&|;)")
    for name, file in page_files().items():
        if name.endswith(".js"):
            text = file.data.decode()
            assert not table.findall(text), name
            assert not member.findall(text), name


def test_the_policy_of_the_pages_allows_their_own_files_and_nothing_else() -> None:
    policy = dict(strict_headers())["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    (import_map,) = set(rules.pop("script-src").split()) - {"'self'"}
    assert re.fullmatch(r"'sha256-[\w+/]{43}='", import_map)
    own = {"style-src": "'self'", "img-src": "'self' data:", "connect-src": "'self'", "font-src": "'self'"}
    never = dict.fromkeys(("default-src", "base-uri", "form-action", "frame-ancestors", "trusted-types"), "'none'")
    assert rules == {**own, **never, "require-trusted-types-for": "'script'"}


def test_the_page_names_every_module_so_that_none_waits_for_another(client: TestClient) -> None:
    named = re.findall(r'<link rel="modulepreload" href="([^"]+)">', client.get("/").text)
    assert len(named) == len([path for path in page_files() if path.endswith((".js", ".mjs"))])


def test_a_file_is_kept_by_a_browser_until_a_file_of_the_pages_changes(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = set(re.findall(r'"(/static/[^"]+\.\w+)"', client.get("/").text))
    assert len(named) > 50
    for path in named:
        answer = client.get(path)
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "max-age=31536000, immutable"), path
    assert client.get("/static/app.js").headers["cache-control"] == "no-cache"
    others = {**page_files(), "style.css": page_files()["style.css"]._replace(etag='"other"')}
    monkeypatch.setattr(pages, "page_files", lambda: others)
    for computed in (pages.front_page, pages.digest_of_all):
        computed.cache_clear()
    after = set(re.findall(r'"(/static/[^"]+\.\w+)"', client.get("/").text))
    assert len(after) == len(named)
    assert not after & named
    assert client.get(min(named)).status_code == 404
    monkeypatch.undo()
    for computed in (pages.front_page, pages.digest_of_all):
        computed.cache_clear()
