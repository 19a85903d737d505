"""Targets of links: § Addressing, ruling 29."""

import pytest

from slicebase.errors import SlicebaseError
from slicebase.files.links import file_name, resolve, target_kind


@pytest.mark.parametrize(
    ("to", "kind"),
    [
        ("01JEXAMPLE000000000000001", "id"),
        ("a-name-of-ones-own", "id"),
        ("./other.slice", "path"),
        ("../sibling/file.slice", "path"),
        ("other.slice", "path"),
        ("./meetings/", "path"),
        ("notes/log.slice", "path"),
        ("row:01FILE/01ROW", "reference"),
        ("turn:05ce3f25-3b45-539e-8730-509ea3dc8613", "reference"),
        ("sn_" + "0" * 32, "reference"),
        ("https://example.org/page", "uri"),
        ("turn:not-a-uuid", "uri"),
        ("sn_short", "id"),
    ],
)
def test_a_target_is_classified_by_its_form(to: str, kind: str) -> None:
    assert target_kind(to) == kind


@pytest.mark.parametrize(
    ("folder", "to", "path"),
    [
        (".slices", "./other.slice", ".slices/other.slice"),
        (".slices", "../notes/a.slice", "notes/a.slice"),
        (".slices", "./meetings/", ".slices/meetings"),
        ("", "./a.slice", "a.slice"),
        (".slices", "..", "."),
    ],
)
def test_a_path_starts_at_its_files_folder(folder: str, to: str, path: str) -> None:
    """Ruling 29."""
    assert resolve(folder, to) == path


@pytest.mark.parametrize(
    ("folder", "to"), [(".slices", "../../x.slice"), ("", ".."), ("a", "../b/../../c"), ("a", "/etc/x")]
)
def test_a_path_that_leaves_the_workspace_has_no_target(folder: str, to: str) -> None:
    """Ruling 29."""
    assert resolve(folder, to) is None


def test_an_id_that_is_too_long_is_quoted_in_part_and_told_so() -> None:
    with pytest.raises(SlicebaseError) as caught:
        file_name("x" * 201)
    assert caught.value.message.startswith("'xxx")
    assert "x…' cannot be a file name" in caught.value.message
    assert "at most 200 bytes" in (caught.value.hint or "")
