"""Passages: what some bytes have in common with purged texts is found wherever it stands."""

from hypothesis import given
from hypothesis import strategies as st

from slicebase.core.passages import PASSAGE, PassageIndex, written_forms

SECRET = b"the launch code is 4711-0815-2342, and nobody else may ever know it"


def test_a_passage_is_found_in_its_full_length() -> None:
    data = b"x" * 77 + SECRET[5:60] + b"y" * 40
    assert [data[found.start : found.end] for found in PassageIndex([SECRET]).found_in(data)] == [SECRET[5:60]]


def test_a_text_of_exactly_32_bytes_is_a_passage() -> None:
    text = bytes(range(32, 64))
    assert list(PassageIndex([text]).found_in(b"before" + text + b"after")) == [(6, 38)]
    assert PassageIndex([text]).whole_in(b"before" + text + b"after") == {text}
    assert not PassageIndex([text[:31]])


def test_what_is_shorter_than_a_passage_is_not_found() -> None:
    assert not list(PassageIndex([SECRET]).found_in(b"xx" + SECRET[: PASSAGE - 1] + b"y" * 100))
    assert not PassageIndex([SECRET[: PASSAGE - 1]])


def test_a_window_that_stands_often_in_a_text_does_not_hide_a_passage() -> None:
    text = b" " * 40 + b"name" + b" " * 40 + b"the value of the second column"
    data = b"-" * 3 + b" " * 16 + b"the value of the second column"
    found = [data[each.start : each.end] for each in PassageIndex([text]).found_in(data)]
    assert data[3:] in found


def test_texts_are_found_whole_or_not_at_all() -> None:
    passages = PassageIndex([SECRET, SECRET[:40]])
    assert passages.whole_in(b"abc" + SECRET[:50]) == {SECRET[:40]}
    assert passages.whole_in(b"abc" + SECRET) == {SECRET, SECRET[:40]}


def test_forms_are_those_that_files_contain() -> None:
    assert written_forms('é "quoted"\n') == {
        'é "quoted"\n'.encode(),
        'é \\"quoted\\"\\n'.encode(),
        b'\\u00e9 \\"quoted\\"\\n',
    }


ALPHABET = st.sampled_from([b"a", b"b", b"the same words ", b"0123456789abcdefghijklmnopqrstuvwxyz"])
TEXT = st.lists(ALPHABET, max_size=30).map(b"".join)


@given(TEXT, TEXT, TEXT, st.data())
def test_every_passage_of_32_bytes_is_found(text: bytes, before: bytes, after: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    whole = before + text[start : data.draw(st.integers(start, len(text)))] + after
    found = list(PassageIndex([text]).found_in(whole))
    assert all(whole[each.start : each.end] in text for each in found)
    covered = {at for each in found for at in range(each.start, each.end - PASSAGE + 1)}
    common = {at for at in range(len(whole) - PASSAGE + 1) if whole[at : at + PASSAGE] in text}
    assert len(text) > 200 or common <= covered
