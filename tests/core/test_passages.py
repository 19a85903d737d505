"""Passages: what some bytes have in common with purged texts is found wherever it stands, unless it survives."""

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.core import passages as passages_module
from slicebase.core.passages import PASSAGE, PassageTable, Stretch, written_forms

SECRET = b"the launch code is 4711-0815-2342, and nobody else may ever know it"


def found(texts: list[bytes], data: bytes, *survivors: bytes) -> list[bytes]:
    passages = PassageTable(texts)
    for each in survivors:
        passages.forget(each)
    return [data[each.start : each.end] for each in passages.found_in(data)]


def test_a_passage_is_found_in_its_full_length() -> None:
    assert found([SECRET], b"x" * 77 + SECRET[5:60] + b"y" * 40) == [SECRET[5:60]]


def test_a_text_of_exactly_32_bytes_is_a_passage() -> None:
    text = bytes(range(32, 64))
    assert list(PassageTable([text]).found_in(b"before" + text + b"after")) == [(6, 38)]
    assert not PassageTable([text[:31]])


def test_what_is_shorter_than_a_passage_is_not_found() -> None:
    assert found([SECRET], b"xx" + SECRET[: PASSAGE - 1] + b"y" * 100) == []
    assert not PassageTable([SECRET[: PASSAGE - 1]])


def test_a_passage_survives_only_if_every_32_bytes_of_it_do() -> None:
    assert found([SECRET], SECRET, b"one " + SECRET[:45], SECRET[14:] + b" two") == []
    assert found([SECRET], SECRET, b"one " + SECRET[:45], SECRET[15:] + b" two") == [SECRET[14:46]]


def test_passages_that_touch_are_one_and_others_are_apart() -> None:
    passages = PassageTable([SECRET])
    size = len(SECRET)
    assert list(passages.found_in(SECRET + SECRET)) == [Stretch(0, 2 * size)]
    assert list(passages.found_in(SECRET + b"|" + SECRET)) == [Stretch(0, size), Stretch(size + 1, 2 * size + 1)]


def test_texts_that_repeat_the_same_beginning_hide_nothing() -> None:
    """As lists of paths do: nearly every window of 12 bytes stands in them hundreds of times."""
    paths = [b"/home/ada/project/src/module_%03d/file_%03d.py\n" % (n % 40, n) for n in range(400)]
    assert found([b"".join(paths[:300])], paths[299]) == [paths[299]]
    assert found([b"".join(paths[:300])], paths[299], b"".join(paths)) == []


def test_what_is_mostly_boilerplate_is_no_passage() -> None:
    mark = re.compile(rb"\[mark-[a-z]+\]")
    text = b"[mark-one][mark-two][mark-three] the rest of it says something that counts"
    passages = PassageTable([text])
    passages.dismiss(mark)
    assert [text[each.start : each.end] for each in passages.found_in(text)] == [text[16:]]
    assert not passages.is_in(b"[mark-one][mark-two][mark-three] the rest of i")
    passages.forget(text)
    assert not passages.is_in(text)
    assert passages.is_shared(text, mark)
    assert not passages.is_shared(text[:46], mark)
    assert not passages.is_shared(text, re.compile(b".+"))


def test_forms_are_those_that_files_contain() -> None:
    text = 'é "quoted"\n'
    of_text = {text.encode(), 'é \\"quoted\\"\\n'.encode(), b'\\u00e9 \\"quoted\\"\\n'}
    on_one_line = {text.strip().encode(), 'é \\"quoted\\"'.encode(), b'\\u00e9 \\"quoted\\"'}
    assert written_forms(text) == of_text | on_one_line


def test_a_table_takes_at_most_40_times_the_memory_of_its_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages_module, "_SHORT", 0)  # short texts may take more
    text = "".join(f"/home/ada/src/file_{number}.py: it is\n" for number in range(300))
    tracemalloc.start()
    PassageTable(written_forms(text))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * len(text)


PIECE = st.sampled_from(
    [b"a", b"b", b"the same words ", b"0123456789abcdefghijklmnopqrstuvwxyz", b"/home/ada/", b"-" * 20]
)
TEXT = st.lists(PIECE, max_size=30).map(b"".join)


@pytest.mark.parametrize("short", [0, 1 << 16], ids=["long", "short"])
@given(text=TEXT, data=TEXT, survivors=st.lists(TEXT, max_size=2))
def test_exactly_the_common_windows_that_survive_nowhere_are_found(
    short: int, text: bytes, data: bytes, survivors: list[bytes]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passages_module, "_SHORT", short)
        passages = PassageTable([text])
    for each in survivors:
        passages.forget(each)
    covered = {at for each in passages.found_in(data) for at in range(each.start, each.end - PASSAGE + 1)}
    windows = {at: data[at : at + PASSAGE] for at in range(len(data) - PASSAGE + 1)}
    alone = {at for at, window in windows.items() if window in text and not any(window in each for each in survivors)}
    assert alone <= covered
    assert alone or not covered
    assert passages.is_in(data) == bool(alone)
