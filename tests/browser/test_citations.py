"""What a claim cites, of every kind of text: it opens in its place, with the cited words marked."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from slicebase import Slicebase
from tests.browser.conftest import Look
from tests.browser.memories import Shown, at_rest, opened
from tests.browser.servers import Server

TOLD = {
    "turn": "compared without regard to case",
    "row": "The total is rounded once",
    "sec": "makes it upper case",
    "doc": "The shelf number 250 is empty",
}


@pytest.fixture(scope="module")
def told(shown: Shown, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = shutil.copytree(shown.root, tmp_path_factory.mktemp("told") / "demo")
    with Slicebase.open(root, root, create=False) as memory:
        (root / "halls.txt").write_text("".join(f"The shelf number {each} is empty.\n\n" for each in range(400)))
        document = memory.add(root / "halls.txt")
        sources = {"turn": "turn:0961d9aa", "row": f"file:{shown.files['jsonl']}",
                   "sec": f"file:{shown.files['markdown']}", "doc": document.ref}  # fmt: skip
        memory.runs.start("told", "Cite every kind of text.", done="It is cited.")
        for kind, quote in TOLD.items():
            memory.runs.claim("told", f"Told by a {kind}.", id=kind, status="verified", cite=(sources[kind], quote))
    with Server(lambda: at_rest(root)) as server:
        yield server


@pytest.mark.parametrize("kind", TOLD)
def test_a_claim_leads_to_the_cited_words_in_their_place(look: Look, told: Server, kind: str) -> None:
    claims = look(f"{told.url}/run/told?tab=claims")
    item = claims.page.locator(".item", has_text=f"Told by a {kind}.")
    item.locator("button[aria-expanded]").click()
    claims.settle()
    assert item.locator("blockquote mark").inner_text() == TOLD[kind]
    item.get_by_role("link", name="open in its place").click()
    claims.settle()
    assert _marked(claims.page.locator("main mark").all_inner_texts()) == TOLD[kind]
    why = f"/proof/why?ref=claim:told/{kind}"
    claims.go(why)
    assert TOLD[kind] in claims.page.locator(".why-card", has_text="chunk").last.inner_text()
    for link in (1, 2):  # that of the evidence, and that of its chunk
        claims.go(why)
        claims.page.locator(".why-card").nth(link).get_by_role("link").click()
        claims.settle()
        assert _marked(claims.page.locator("main mark").all_inner_texts()) == TOLD[kind]


CHANGED = "the text has changed since it was cited"


@pytest.mark.parametrize(
    "body",
    [("jsonl", "The total is rounded once, and never up."), ("markdown", "# Sums\n\nThe total is rounded once.\n")],
)
def test_cited_words_that_changed_are_told_before_they_are_opened_and_no_others_are_marked(
    look: Look, tmp_path: Path, body: tuple[str, str]
) -> None:
    with opened(tmp_path) as memory:
        kind, text = body
        file = memory.library.create("Sums", "How sums are made.", type=kind, body="" if kind == "jsonl" else text)
        if kind == "jsonl":
            memory.library.remember(file.id, text)
        memory.runs.start("sums", "Cite what changes.", done="It is cited.")
        for name, quote in (("lost", "rounded once"), ("kept", "The total")):
            memory.runs.claim("sums", f"It is {name}.", id=name, status="verified", cite=(f"file:{file.id}", quote))
        path = next((tmp_path / ".slices").glob(f"**/*{file.id}*"))
    path.write_text(path.read_text().replace("The total is rounded once", "By law, The total is cut"))
    with Server(lambda: at_rest(tmp_path)) as server:
        claims = look(f"{server.url}/run/sums?tab=claims")
        lost = claims.page.locator(".item", has_text="It is lost.")
        assert "changed" in lost.locator(".badge").all_inner_texts()
        assert CHANGED in lost.inner_text()
        lost.locator("li.quote a.ref").click()
        claims.settle()
        assert CHANGED in claims.text.lower()
        assert claims.page.locator("main mark").count() == 0
        assert claims.page.locator("s").inner_text() == "rounded once"
        claims.page.go_back()
        claims.settle()
        claims.page.locator(".item", has_text="It is kept.").locator("li.quote a.ref").click()
        claims.settle()
        assert claims.page.locator("main mark").all_inner_texts() == ["The total"]
        claims.close()


def _marked(texts: list[str]) -> str:
    return re.sub(r"\s+", " ", "".join(texts)).strip()
