"""Sections of a Markdown file that overflow divided: a section has one path, whichever part its heading is in."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.files.body.overflow import ARCHIVED, CONTINUED, joined, move_oldest, new_part
from slicebase.files.body.section_places import section_place
from slicebase.files.body.sections import sections
from slicebase.files.body.text import append_in_section, append_paragraph
from slicebase.files.create import new_file
from slicebase.files.slice_file import SliceFile
from tests.amounts import MORE

TEXT = "# A\n\n## x\n\none\n\n### deep\n\ntwo\n\n## y\n\nthree\n\n# B\n\n## x\n\nfour é\n\n## z\n\nfive\n"


def file_of(text: str) -> SliceFile:
    return new_file(id="01A", title="T", summary="S.", body_type="markdown", body=text.encode(), name=".slices/a.slice")


def written(target: SliceFile, whole: SliceFile, files: dict[str | None, SliceFile], section: str) -> bytes:
    place = section_place(target, whole, files.get, section)
    text = f"{place.headings}NEW"
    if place.section is None:
        return append_paragraph(target.body, text)
    return append_in_section(target.body, place.section, text)


def path_of_new(body: bytes) -> str:
    text = body.decode()
    return next(each.slugs for each in sections(text) if "NEW" in text[each.start : each.end])


PATHS = ["a", "a/x", "a/x/deep", "a/y", "b", "b/x", "b/z"]


@settings(max_examples=60 * MORE)
@given(most=st.integers(0, len(TEXT)), again=st.integers(0, len(TEXT)), path=st.sampled_from(PATHS))
def test_a_section_that_was_archived_starts_again_under_its_own_headings(most: int, again: int, path: str) -> None:
    files: dict[str | None, SliceFile] = {"01A": file_of(TEXT)}
    for name, size in (("01B", most), ("01C", again)):
        moved = move_oldest(files["01A"], size)
        if moved:
            files[name] = new_part(files["01A"], name, moved)
            files["01A"] = joined(files["01A"].with_body(moved.stays), name, ARCHIVED)
    body = written(files["01A"], files["01A"], files, path)
    assert path_of_new(body) == path
    files["01A"] = files["01A"].with_body(body.replace(b"NEW", b"first"))
    second = written(files["01A"], files["01A"], files, path)
    assert path_of_new(second) == path
    assert second.count(b"#") == body.count(b"#")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("cut", [text.start for text in sections(TEXT)])
def test_a_section_continues_in_a_part_under_its_own_headings(path: str, cut: int) -> None:
    """The part begins in the middle of the text: its headings are below those of the file."""
    part = new_part(file_of(TEXT[:cut]), "01B").with_body(TEXT[cut:].encode())
    whole = joined(file_of(TEXT[:cut]), "01B", CONTINUED)
    files: dict[str | None, SliceFile] = {"01B": part}
    body = written(part, whole, files, path)
    assert body.count(b"NEW") == 1
    files["01B"] = part.with_body(body.replace(b"NEW", b"first"))
    second = written(files["01B"], whole, files, path)
    assert second.count(b"#") == body.count(b"#")
    text = second.decode()
    (found,) = (text[each.start : each.end] for each in sections(text) if "NEW" in text[each.start : each.end])
    assert "first" in found


def test_a_name_that_several_sections_of_the_whole_have_is_refused() -> None:
    part = new_part(file_of(TEXT), "01B").with_body(b"## w\n\nmore\n")
    whole = joined(file_of(TEXT), "01B", CONTINUED)
    for heading, code in (("x", "ambiguous-section"), ("nothing", "no-section")):
        with pytest.raises(SlicebaseError) as caught:
            section_place(part, whole, {"01B": part}.get, heading)
        assert caught.value.code == code
    assert section_place(part, whole, {"01B": part}.get, "w").section == "w"
    assert section_place(part, whole, {"01B": part}.get, "b/w").section == "w"
    double = part.with_body(b"## w\n\n## w\n")
    with pytest.raises(SlicebaseError) as caught:
        section_place(double, whole, {"01B": double}.get, "b/w")
    assert caught.value.code == "ambiguous-section"
    assert section_place(double, whole, {"01B": double}.get, "w-1").section == "w-1"
