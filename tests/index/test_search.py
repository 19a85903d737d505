"""Search: what is found, in which order, which passages are shown, and which hints are given when nothing is found."""

import json
import random
from contextlib import suppress

from slicebase.errors import SlicebaseError
from slicebase.index.entries import Filters, short_file_ids
from slicebase.library.finder import Finder
from slicebase.workspace.workspace import Workspace
from tests.codes import code_of
from tests.library.samples import DAY, NOW, ids, put, rows

# ---- what is found


def test_words_are_found_in_title_summary_body_and_rows(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", title="About herons")
    put(workspace, "b", summary="Where a heron sleeps.")
    put(workspace, "c", "# Birds\n\nThe heron waits.")
    put(workspace, "d", rows({"id": "r", "note": "heron", "text": "seen"}), type="jsonl")
    put(workspace, "e", '{"role": "user", "content": "heron?"}\n', type="conversation")
    put(workspace, "f", '{"instruction": "feed the heron"}\n', type="routine")
    put(workspace, "g", "bird: heron", type="yaml")
    assert sorted(ids(finder, "heron")) == list("abcdefg")


def test_all_words_have_to_be_there_somewhere_in_the_file(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", "A stork.", title="Herons")
    put(workspace, "b", "A heron.")
    assert ids(finder, "heron stork") == ["a"]
    assert sorted(ids(finder, "heron stork", either=True)) == ["a", "b"]


def test_phrases_and_prefixes_are_found(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", "the grey heron waits")
    put(workspace, "b", "a heron in the grey")
    assert ids(finder, '"grey heron"') == ["a"]
    assert sorted(ids(finder, "gre*")) == ["a", "b"]


def test_words_identifiers_and_quoted_text_mean_in_files_what_they_mean_in_turns(
    workspace: Workspace, finder: Finder
) -> None:
    put(workspace, "a", "git index file; git index file, and the situation")
    put(workspace, "b", "Much later, GIT_INDEX_FILE is set for 1,548 euros.", title="Other")
    assert ids(finder, "GIT_INDEX_FILE") == ids(finder, "git_index*") == ids(finder, '"1,548 euros"') == ["b"]
    assert ids(finder, "index-file") == ["a", "b"]
    assert ids(finder, "git -GIT_INDEX_FILE") == ids(finder, "situatio*") == ids(finder, '"situatio"') == ["a"]
    assert ids(finder, "GIT_INDEX_FILE zzz", either=True) == ["b"]


def test_a_name_is_found_inside_longer_ones_and_quoted_signs_as_in_turns(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", "calls getUserMediaStream(), and exit.")
    put(workspace, "b", "user media, and it.", title="Words")
    put(workspace, "c", "UserMedia is there ❤️", title="Alone")
    assert ids(finder, "UserMedia") == ["c", "a"]
    assert ids(finder, '"it."') == ["b"]
    assert ids(finder, '"❤️"') == ["c"]
    assert ids(finder, 'user -"❤️"') == ["b", "a"]


def test_lines_that_cannot_be_read_are_found_by_their_words(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", '{"_meta": heron}\n' + rows({"id": "r", "text": "stork"}), type="jsonl")
    put(workspace, "b", "").write_bytes(put(workspace, "b", "").read_bytes() + b"\xffheron\xff")
    assert sorted(ids(finder, "heron")) == ["a", "b"]


def test_a_query_without_words_is_refused(finder: Finder) -> None:
    assert code_of(finder.search, "--- …") == "no-words"


# ---- the order


def test_the_title_weighs_most_then_the_summary_then_the_rest(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "body", "heron heron heron")
    put(workspace, "summary", summary="A heron.")
    put(workspace, "title", title="Heron")
    assert ids(finder, "heron") == ["title", "summary", "body"]


def test_equal_files_are_in_the_order_of_their_ids(workspace: Workspace, finder: Finder) -> None:
    """Ruling 43."""
    for name in ("c", "a", "b"):
        put(workspace, name, "heron", title="Bird")
    found = finder.search("heron")
    assert [(hit.entry.id, hit.score) for hit in found.hits] == [("a", 1.0), ("b", 1.0), ("c", 1.0)]


def test_among_many_equal_files_the_first_ids_are_shown(workspace: Workspace, finder: Finder) -> None:
    names = [f"f{number:03}" for number in range(150)]
    for name in random.Random(2).sample(names, len(names)):
        put(workspace, name, "heron", title="Bird")
        if name < "f010":
            finder.list_files()  # so that numbers in the index do not follow the ids
    assert ids(finder, "heron", limit=4) == names[:4]


def test_a_limit_shows_the_best_and_counts_all(workspace: Workspace, finder: Finder) -> None:
    for number in range(5):
        put(workspace, f"f{number}", "heron " * (number + 1))
    found = finder.search("heron", limit=2)
    assert (len(found.hits), found.total) == (2, 5)


# ---- filters


def test_filters_choose_among_files(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", "heron", meta={"owner": "one", "tags": ["x", "y"], "reviewed": True})
    put(workspace, "b", rows({"id": "r", "text": "heron"}), type="jsonl", links=[{"rel": "is_a", "to": "a"}])
    put(workspace, "c", kind="pointer", type="none", summary="heron", payload={"uri": "./x", "size": 1})
    for filters, expected in (
        (Filters(kind="pointer"), ["c"]),
        (Filters(type="jsonl"), ["b"]),
        (Filters(rel="is_a"), ["b"]),
        (Filters(meta=[("owner", "one")]), ["a"]),
        (Filters(meta=[("tags", "y"), ("reviewed", "true")]), ["a"]),
        (Filters(meta=[("owner", "two")]), []),
        (Filters(kind="context", rel="is_a", type="markdown"), []),
    ):
        assert ids(finder, "heron", filters=filters) == expected
        assert [entry.id for entry in finder.list_files(filters)] == expected


def test_files_changed_since_a_time_are_found(workspace: Workspace, finder: Finder) -> None:
    """Age runs from the newer of updated_at and the newest row (ruling 26)."""
    put(workspace, "old", "heron", updated_at="2020-01-01T00:00:00Z")
    put(workspace, "new", "heron", updated_at="2026-02-20T00:00:00Z")
    log = rows({"id": "r", "text": "heron", "at": "2026-02-21T00:00:00Z"})
    put(workspace, "log", log, type="jsonl", updated_at="2020-01-01T00:00:00Z")
    message = json.dumps({"role": "user", "content": "heron", "ts": "2026-02-22T00:00:00Z"}) + "\n"
    put(workspace, "talk", message, type="conversation", updated_at="2020-01-01T00:00:00Z")
    since = Filters(changed_since=(NOW - 30 * DAY) / 1000)
    assert sorted(ids(finder, "heron", filters=since)) == ["log", "new", "talk"]
    assert [entry.id for entry in finder.list_files()] == ["talk", "log", "new", "old"]


def test_what_was_forgotten_is_hidden_unless_asked_for(workspace: Workspace, finder: Finder) -> None:
    """Ruling 31."""
    put(workspace, "a", "heron", archived={"at": "2026-01-01T00:00:00Z", "reason": "old"})
    assert ids(finder, "heron") == []
    assert finder.list_files() == []
    assert ids(finder, "heron", filters=Filters(archived=True)) == ["a"]


def test_rows_that_no_longer_hold_are_hidden_unless_asked_for(workspace: Workspace, finder: Finder) -> None:
    """Ruling 27."""
    lines = rows(
        {"id": "r1", "text": "heron"},
        {"id": "r2", "text": "stork", "supersedes": ["r1"]},
        {"id": "r3", "text": "gannet", "status": "rejected"},
    )
    put(workspace, "a", lines, type="jsonl")
    assert [ids(finder, word) for word in ("heron", "stork", "gannet")] == [[], ["a"], []]
    assert [ids(finder, word, former_rows=True) for word in ("heron", "stork", "gannet")] == [["a"]] * 3


# ---- what is shown


def test_a_hit_shows_the_rows_that_matched_the_newest_first(workspace: Workspace, finder: Finder) -> None:
    lines = rows(
        *({"id": f"r{number}", "text": f"heron {number}"} for number in range(5)), {"id": "x", "text": "stork"}
    )
    path = put(workspace, "a", lines, type="jsonl")
    hit = finder.search("heron").hits[0]
    assert [found.ref for found in hit.found] == ["row:a/r4", "row:a/r3", "row:a/r2"]
    assert hit.more == 2
    line = hit.found[0].line
    assert line is not None
    assert "heron 4" in path.read_text().splitlines()[line - 1]


def test_rows_with_more_of_the_words_come_before_those_with_fewer(workspace: Workspace, finder: Finder) -> None:
    lines = rows({"id": "both", "text": "heron and stork"}, {"id": "one", "text": "heron"})
    put(workspace, "a", lines, type="jsonl")
    assert [found.ref for found in finder.search("heron stork").hits[0].found] == ["row:a/both"]


def test_a_hit_in_markdown_names_its_section_and_line(workspace: Workspace, finder: Finder) -> None:
    path = put(workspace, "a", "\n# Birds\n\nStorks.\n\n## At night\n\nThe heron sleeps.\n")
    found = finder.search("heron").hits[0].found[0]
    assert found.ref.startswith("sec:a@")
    assert found.ref.endswith("#birds/at-night")
    assert found.line is not None
    assert path.read_text().splitlines()[found.line - 1] == "The heron sleeps."


def test_a_hit_in_the_title_alone_shows_the_summary(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", "Nothing.", title="Herons", summary="All about them.")
    hit = finder.search("heron").hits[0]
    assert [(found.ref, found.snippet.text) for found in hit.found] == [("file:a", "All about them.")]
    assert [hit.title.text[start:end] for start, end in hit.title.marks] == ["Herons"]


# ---- when nothing is found


def test_a_typing_error_gives_a_hint_with_a_similar_word(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", "The Herons wait.")
    for slip in ("heon", "heronn", "haron"):
        assert "herons" in " ".join(finder.search(slip).hints)


def test_two_letters_that_changed_places_are_found(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", "The Herons wait.")
    put(workspace, "b", "The storks wait.")
    assert [[hit.entry.id for hit in finder.search(slip)] for slip in ("hreon", "sotrks")] == [["a"], ["b"]]


def test_hints_show_what_another_search_would_find(workspace: Workspace, finder: Finder) -> None:
    put(
        workspace,
        "a",
        rows({"id": "r1", "text": "heron"}, {"id": "r2", "text": "stork", "supersedes": ["r1"]}),
        type="jsonl",
    )
    put(workspace, "b", "gannet", archived={"at": "2026-01-01T00:00:00Z"})
    assert any("--rows all" in hint for hint in finder.search("heron").hints)
    assert any("--archived" in hint for hint in finder.search("gannet").hints)
    assert any("--any" in hint for hint in finder.search("stork ibis").hints)
    assert any("without the filters" in hint for hint in finder.search("stork", Filters(kind="pointer")).hints)
    assert any("tt list" in hint for hint in finder.search("unheard").hints)


# ---- files by id


def test_a_file_is_found_by_its_id_or_by_an_unambiguous_prefix(workspace: Workspace, finder: Finder) -> None:
    """Ruling 53."""
    for name in ("alphabetc", "alphabetd", "alphabet"):
        put(workspace, name)
    assert finder.info("alphabetc").entry.id == finder.info("file:alphabetc").entry.id == "alphabetc"
    assert finder.info("alphabet").entry.id == "alphabet"
    put(workspace, "xylophones")
    assert finder.info("xylophon").entry.id == "xylophones"
    assert code_of(finder.info, "xylo") == "short-id"
    (workspace.library / "alphabet.slice").unlink()
    assert code_of(finder.info, "alphabet") == "ambiguous-id"
    assert code_of(finder.info, "nope") == "no-file"


def test_a_file_that_cannot_be_read_reports_why(workspace: Workspace, finder: Finder) -> None:
    (workspace.library / "a.slice").write_text("---\nslice: [\n---\n")
    assert code_of(finder.info, "a") == "yaml-syntax"


def test_of_two_files_with_one_id_the_one_whose_name_is_the_id_counts(workspace: Workspace, finder: Finder) -> None:
    put(workspace, "a", "one", name="0-other")
    put(workspace, "a", "two")
    assert finder.info("a").entry.name == "a.slice"
    assert len(finder.list_files()) == 2


def test_a_file_without_an_id_is_found_by_its_name(workspace: Workspace, finder: Finder) -> None:
    (workspace.library / "plain.slice").write_text("---\nslice:\n  title: Herons\n---\n")
    assert ids(finder, "heron") == ["plain"]


def test_a_query_has_a_largest_size(workspace: Workspace, finder: Finder) -> None:
    """A phrase of many words takes a time that grows with its square, and `a-a-a-…` is one."""
    put(workspace, "a", "ab " * 2_000 + "a-" * 2_000)
    for query in ("a" * 5_000, "a-" * 5_000, '"a" ' * 2_500, '"' * 9_999, "NEAR(" * 2_000, "a* " * 3_000):
        with suppress(SlicebaseError):
            finder.search(query)
    assert code_of(finder.search, "word " * 2_001) == "too-large"


def test_few_and_many_ids_are_shortened_alike_and_to_what_finds_them(workspace: Workspace, finder: Finder) -> None:
    """Many ids are compared with all, few with their neighbours; a file that cannot be read counts, too."""
    ids = [f"01JABCDE{number // 7:04}{number:014}" for number in range(150)] + ["notes", "notes-2"]
    for name in ids:
        put(workspace, name)
    (workspace.library / "01JABCDE00000000000000000Z.slice").write_text("broken")
    finder.list_files()

    def shortened(*names: str) -> dict[str, str]:
        return finder.index.ask_again(lambda connection: short_file_ids(connection, names))

    many = shortened(*ids)
    assert many == {name: shortened(name)[name] for name in ids}
    assert {name: finder.info(short).entry.id for name, short in many.items()} == {name: name for name in ids}
    gone = "01JGONE0000000000000000000"
    assert shortened(gone) == {gone: gone}
