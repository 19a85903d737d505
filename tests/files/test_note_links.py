"""Links between notes: what counts as one, and which note it names."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.note_links import NamedNote, NoteLink, NoteNames, note_links
from tests.amounts import MORE


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("[[Note]] [[Note|label]] [[Note#Heading]] ![[Embed]]", ["Note", "Embed"]),
        ("[[#only a heading]] [[ ]] [[]]", []),
        ("| [[In a table\\|label]] |", ["In a table"]),
        ("`[[code]]` ``a ` [[code]]`` [[real]] ` [[open]]", ["real", "open"]),
        ("```\n[[code]]\n```\n~~~\n[x](code.md)\n~~~\n<!--\n[[hidden]]\n-->\n[[real]]", ["real"]),
        ("[x](a.md) [y](b%20c.md#part) [z](<d e.md>) [w](f.md 'title')", ["a.md", "b c.md", "d e.md", "f.md"]),
        ("[x](https://example.org/a.md) [y](mailto:a@b.c) [z](//host/a.md) [w](#part)", []),
        ("[x][ref]\n\n[ref]: ../g.md\n[^1]: no.md", ["../g.md"]),
        ("[x](wiki_(page).md)", ["wiki_(page).md"]),
        ("a <!-- [[hidden]] --> [[real]] <!-- [x](no.md)\nmore --> [[too]] <!-- [[open]]", ["real", "too", "open"]),
        ("%%[[hidden]]%% [[real]]\n%%\n\n[[hidden]]\n%%\n[[too]] 5 %% [[open]]", ["real", "too", "open"]),
        ("`%%` [[real]] `<!--` [[too]] %% --> [[open]]", ["real", "too", "open"]),
        ("[[real]]\n\n    [[code]]\n\n\t[[code]]\nText\n    [[still text]]", ["real", "still text"]),
        ("- item\n\n    [[in the list]]\n\nText\n\n    [[code]]", ["in the list"]),
        ("> ```\n> [[code]]\n> ```\n> [[real]]\n> > ~~~\n> > [[code]]\n\n[[too]]", ["real", "too"]),
    ],
)
def test_wiki_links_and_markdown_links_outside_code_count(text: str, targets: list[str]) -> None:
    assert [link.target for link in note_links(text)] == targets


def names(*paths: str, **aliases: str) -> NoteNames:
    return NoteNames(
        NamedNote(path, path.partition("/")[0], tuple(alias for alias, of in aliases.items() if of == path))
        for path in paths
    )


VAULT = ("v/a/Note.md", "v/b/Note.md", "v/Top.md", "v/deep/er/Only.md", "w/Note.md", "v/v1.2.md")


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        ("v/a/x.md", "Note", "v/a/Note.md"),  # the nearest
        ("v/b/x.md", "note.MD", "v/b/Note.md"),
        ("v/Top.md", "Note", "v/a/Note.md"),  # the shortest, then the first
        ("w/x.md", "Note", "w/Note.md"),  # of the same added folder
        ("v/a/x.md", "b/Note", "v/b/Note.md"),  # the end of a path
        ("v/a/x.md", "../b/Note", "v/b/Note.md"),
        ("v/a/x.md", "er/only", "v/deep/er/Only.md"),
        ("v/a/x.md", "Summit", "v/Top.md"),  # an alias
        ("v/a/x.md", "v1.2", "v/v1.2.md"),
        ("v/a/x.md", "Nowhere", None),
        ("v/a/x.md", "../../../etc/Note", None),
    ],
)
def test_a_wiki_link_names_the_nearest_note_of_its_name(source: str, target: str, found: str | None) -> None:
    resolved = names(*VAULT, source, Summit="v/Top.md").resolved(source, [NoteLink("wiki", target)])
    assert resolved == ((found,) if found else (), 0 if found else 1)


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("Note.md", "v/a/Note.md"),
        ("note.md", "v/a/Note.md"),
        ("../Top.md", "v/Top.md"),
        ("../Top", "v/Top.md"),
        ("/Top.md", "v/Top.md"),
        ("/w/Note.md", "w/Note.md"),
        ("Top.md", None),
    ],
)
def test_a_markdown_link_names_a_path(target: str, found: str | None) -> None:
    resolved = names(*VAULT, "v/a/x.md").resolved("v/a/x.md", [NoteLink("path", target)])
    assert resolved == ((found,) if found else (), 0 if found else 1)


def test_links_are_in_the_order_of_the_text_each_once_and_never_to_the_note_itself() -> None:
    links = note_links("[[Only]] [[Top]] [t](../Top.md) [[x]] ![[x.png]] [folder](../b/) [[gone]]")
    resolved = names(*VAULT, "v/a/x.md").resolved("v/a/x.md", links)
    assert resolved == (("v/deep/er/Only.md", "v/Top.md"), 1)


PATHS = st.lists(st.sampled_from(["v/a.md", "v/b/a.md", "v/b/c.md", "w/a.txt", "v/A.md"]), unique=True)
TARGETS = st.text(alphabet="abc./# |", max_size=8)


@settings(max_examples=50 * MORE)
@given(PATHS, st.lists(TARGETS, max_size=4), st.randoms())
def test_the_order_in_which_notes_are_known_changes_nothing(
    paths: list[str], targets: list[str], chance: Random
) -> None:
    text = " ".join(f"[[{target}]] [x]({target})" for target in targets)
    shuffled = chance.sample(paths, len(paths))
    for source in paths:
        one, other = (names(*order).resolved(source, note_links(text)) for order in (paths, shuffled))
        assert one == other
        assert source not in one.paths
        assert set(one.paths) <= set(paths)
