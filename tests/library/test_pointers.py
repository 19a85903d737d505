"""Pointers of notes: the quick writer and the plain one agree, and an edit keeps what is not the note's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.body.entries import Stamp
from slicebase.files.body.rows import Provenance
from slicebase.files.check.between import Checked, FileLocation
from slicebase.files.check.file import check_file
from slicebase.files.check.version import checked_bytes
from slicebase.files.model import Link
from slicebase.files.note import read_note
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import append_item, set_key
from slicebase.library.pointers import (
    NoteVersion,
    followed_pointer,
    new_pointer,
    note_id,
    plain_pointer,
    refreshed_pointer,
    with_note_links,
)
from tests.amounts import MORE
from tests.library.scratch import NOON

STAMP = Stamp(NOON, b"0123456789")
ONE, TWO, THREE = (note_id(STAMP, path) for path in ("1", "2", "3"))
IDS = st.sampled_from([ONE, TWO, "123", "0x1F", "1e5", "null", "no", "1.5", "a_b"])


def version(text: str, path: str = "docs/a.md", modified: int = NOON - 1000) -> NoteVersion:
    return NoteVersion(path, read_note(text, "a.md"), "sha256:" + "0" * 64, len(text), modified)


NAMES = st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=20).filter(
    lambda name: "/" not in name and "\u2028" not in name and "\u2029" not in name
)


@settings(max_examples=50 * MORE)
@given(IDS, st.text(max_size=80), NAMES, st.lists(IDS, unique=True), st.integers(-(10**15), 10**15))
def test_the_template_writes_what_it_means_and_what_the_plain_writer_does_and_validates(
    file_id: str, text: str, name: str, targets: list[str], modified: int
) -> None:
    given_version = version(f"# {text}\n\n{text}\n", f"docs/{name}.md", modified)
    quick = new_pointer(file_id, "docs", given_version, targets, STAMP)
    assert quick.to_bytes() == plain_pointer(file_id, "docs", given_version, targets, STAMP).to_bytes()
    assert checked_bytes(None, quick) == quick.to_bytes()
    checked = check_file(quick.to_bytes(), FileLocation(quick.name, quick.name))
    assert isinstance(checked, Checked)
    assert {finding.rule for finding in checked.findings} <= {"id-ulid"}


@settings(max_examples=25 * MORE)
@given(st.text(max_size=30), st.text(max_size=30), st.booleans(), st.lists(st.sampled_from([ONE, TWO]), unique=True))
def test_a_pointer_that_is_written_again_says_what_an_edited_one_says(
    before: str, after: str, edited: bool, targets: list[str]
) -> None:
    old = new_pointer(THREE, "docs", version(f"# {before}\n"), [ONE], STAMP)
    if edited:
        old = set_key(old, "slice.meta.owner", "me")
    new = version(f"# {after}\n", "notes/b.md")
    plain = with_note_links(set_key(refreshed_pointer(old, new, STAMP), "slice.meta.notes", "notes"), targets)
    followed = followed_pointer(old, "notes", new, targets, STAMP)
    assert followed.frontmatter == plain.frontmatter
    assert followed.meta.get("owner") == ("me" if edited else None)


def test_a_signed_pointer_says_who_wrote_it() -> None:
    signed = new_pointer(ONE, "docs", version("Text."), (), STAMP._replace(provenance=Provenance(agent="a")))
    assert "updated_by:\n    agent: a\n" in signed.header


def test_an_edit_keeps_comments_keys_and_links_that_are_not_the_notes() -> None:
    file = new_pointer(THREE, "docs", version("# Old\n"), [ONE], STAMP)
    file = append_item(file, "slice.links", Link("depends_on", TWO))
    text = file.to_bytes().decode().replace("rel: depends_on", "rel: depends_on # because")
    file = SliceFile.parse(text.replace("  meta:\n", "  meta: # mine\n    owner: me\n").encode(), file.name)
    new = with_note_links(refreshed_pointer(file, version("# New\n"), STAMP), [TWO])
    assert new.title == "New"
    assert [(link.rel, link.to) for link in new.links] == [("depends_on", TWO), ("see_also", TWO)]
    assert "rel: depends_on # because" in new.header
    assert "meta: # mine\n    owner: me\n" in new.header


@pytest.mark.parametrize("before", [[], [ONE], [ONE, TWO]])
@pytest.mark.parametrize("after", [[], [TWO], [TWO, ONE]])
def test_links_follow_the_note_in_its_order(before: list[str], after: list[str]) -> None:
    file = new_pointer(THREE, "docs", version("Text."), before, STAMP)
    assert [link.to for link in with_note_links(file, after).links] == after
    assert with_note_links(with_note_links(file, after), before).links == file.links


def test_a_link_that_somebody_made_is_not_made_twice() -> None:
    file = append_item(new_pointer(THREE, "docs", version("Text."), (), STAMP), "slice.links", Link("see_also", ONE))
    assert with_note_links(file, [ONE]) == file
