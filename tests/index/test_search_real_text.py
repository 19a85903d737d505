"""Search in a library of real text, compared with a search without an index."""

import json
import random
from typing import Any

import apsw
import pytest

from slicebase.context.forms import for_index
from slicebase.context.identifiers import is_identifier
from slicebase.index.schema import Tokenizer
from slicebase.library.finder import Finder
from slicebase.workspace.workspace import Workspace
from tests.library.samples import library, put, rows
from tests.paths import SHARED

TREES = SHARED / "data" / "oasst" / "en_100_tree.jsonl"
FILES = 150

pytestmark = pytest.mark.skipif(not TREES.exists(), reason="real conversations are not beside the project")


def messages(tree: dict[str, object]) -> list[str]:
    replies = tree.get("replies")
    below = [text for reply in replies for text in messages(reply)] if isinstance(replies, list) else []
    return [str(tree.get("text", "")), *below]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    found: list[str] = []
    for line in TREES.read_text().splitlines():
        found += messages(json.loads(line)["prompt"])
    return found


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Workspace:
    workspace = library(tmp_path_factory.mktemp("real"))
    chance = random.Random(1)
    for number in range(FILES):
        some = chance.sample(texts, 4)
        title, summary = some[0].split("\n")[0][:60], some[1].split("\n")[0][:120]
        fields: dict[str, Any] = {
            "title": title,
            "summary": summary,
            "links": [{"rel": "see_also", "to": f"f{number // 2}"}],
        }
        if number % 3:
            put(workspace, f"f{number}", "\n\n".join(some[2:]), **fields)
        else:
            put(
                workspace,
                f"f{number}",
                rows({"id": "a", "text": some[2]}, {"id": "b", "text": some[3]}),
                type="jsonl",
                **fields,
            )
    return workspace


def test_a_search_finds_exactly_the_files_that_have_the_words(real: Workspace, texts: list[str]) -> None:
    """Compares the index with a search that reads every file, for words, pairs and phrases from the texts."""
    finder, reader = Finder(real), Tokenizer(apsw.Connection(":memory:"))
    stems = {}
    for entry in finder.list_files():
        info = finder.info(entry.id).file
        body = info.text_for_model()
        if entry.body_type == "jsonl":
            body = "\n".join(json.loads(line)["text"] for line in body.splitlines())
        stems[entry.id] = set(reader.stems(for_index(f"{info.title}\n{info.summary}\n{body}")))
    chance = random.Random(2)
    for _ in range(40):
        words = [
            word
            for word in chance.choice(texts).split()
            if word.isalpha() and word.isascii() and not is_identifier(word)
        ]
        if len(words) < 3:
            continue
        at = chance.randrange(len(words) - 1)
        one, two = words[at], chance.choice(words)
        sought = {reader.stems(word)[0] for word in (one, two)}
        found = {hit.entry.id for hit in finder.search(f"{one} {two}", limit=FILES).hits}
        assert found == {file for file, words_of in stems.items() if sought <= words_of}
        found = {hit.entry.id for hit in finder.search(f"{one} {two}", either=True, limit=FILES).hits}
        assert found == {file for file, words_of in stems.items() if sought & words_of}


def test_every_hit_shows_a_passage_with_what_was_asked_for(real: Workspace, texts: list[str]) -> None:
    finder = Finder(real)
    for word in ("python", "write", "history", "because"):
        found = finder.search(word, limit=FILES)
        assert found.hits
        for hit in found.hits:
            assert hit.title.marks or any(each.snippet.marks for each in hit.found), (word, hit.entry.id)
            for each in hit.found:
                path = real.library / hit.entry.name
                assert each.line is None or each.line <= path.read_text().count("\n") + 1


def test_every_file_can_be_explored_and_described(real: Workspace) -> None:
    finder = Finder(real)
    for entry in finder.list_files():
        walk = finder.explore(entry.id, direction="both", depth=4, infer=True).walk
        assert walk.start == entry.id
        assert finder.info(entry.id).entry.title == entry.title
