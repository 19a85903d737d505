"""Values by namespace and key are slice files: found again, replaced in place, deleted and restored."""

from pathlib import Path

from slicebase import Slicebase
from slicebase.agents.key_values import KeyValues, ValueChange

PLACE = (("users", "ada"), "tea")
OTHER = (("users",), "tea\n[1]")


def test_a_value_is_a_slice_file_that_is_replaced_in_place(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        values = KeyValues(memory.library)
        values.put([ValueChange(PLACE, {"likes": "Darjeeling é"}), ValueChange(OTHER, {})])
        assert {place: kept.value for place, kept in values.all().items()} == {
            PLACE: {"likes": "Darjeeling é"},
            OTHER: {},
        }
        (found,) = memory.search("darjeeling").files.hits
        values.put([ValueChange(PLACE, {"likes": "Assam"})])
        assert values.all()[PLACE].id == found.entry.id
        assert not memory.validate().findings


def test_a_deleted_value_is_forgotten_and_can_be_restored(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        values = KeyValues(memory.library)
        values.put([ValueChange(PLACE, None)])
        values.put([ValueChange(PLACE, {"likes": "Assam"})])
        file_id = values.all()[PLACE].id
        values.put([ValueChange(PLACE, None)])
        assert values.all() == {}
        memory.library.restore(file_id)
        assert values.all()[PLACE].value == {"likes": "Assam"}


def test_a_file_that_somebody_has_damaged_is_not_a_value(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        values = KeyValues(memory.library)
        values.put([ValueChange(PLACE, {"likes": "Assam"}), ValueChange(OTHER, {"n": 1})])
        path = memory.library.folder.path / f"{values.all()[PLACE].id}.slice"
        path.write_bytes(path.read_bytes().replace(b'"Assam"', b"Assam"))
        assert list(values.all()) == [OTHER]


def test_a_value_with_a_time_to_live_expires_and_is_swept(tmp_path: Path) -> None:
    now = [1_767_225_600.0]
    with Slicebase.init(tmp_path, clock=lambda: now[0]) as memory:
        values = KeyValues(memory.library)
        values.put([ValueChange(PLACE, {}, ttl=1000), ValueChange(OTHER, {})])
        now[0] += 0.9
        values.renew([PLACE, OTHER])
        now[0] += 0.9
        assert list(values.all()) == [PLACE, OTHER]
        now[0] += 0.1
        assert list(values.all()) == [OTHER]
        assert (values.sweep(), values.sweep()) == (1, 0)


def test_any_text_ranks_values_by_its_words_however_many_other_files_have_them(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        values = KeyValues(memory.library)
        for number in range(3):
            memory.library.create(f"Webhooks {number}", "Webhooks and their limits.", body="Webhooks, webhooks.")
        values.put([ValueChange(PLACE, {"t": "webhooks"}), ValueChange(OTHER, {"t": "nothing"})])
        (wanted, other) = (values.all()[place].id for place in (PLACE, OTHER))
        for text in ("webhooks", "which -webhooks?", "webhooks AND (", 'after:2020 "webhooks', "\0webhooks"):
            assert wanted in values.ranked(text), text
            assert other not in values.ranked(text), text
        assert [values.ranked(text) for text in ("", "?", "\ud800", "🎈", "unheard")] == [[]] * 5


def test_a_value_that_another_process_writes_is_seen(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as one, Slicebase.open(tmp_path) as two:
        values, others = KeyValues(one.library), KeyValues(two.library)
        for number in range(3):
            others.put([ValueChange(PLACE, {"n": number})])
            assert values.all()[PLACE].value == {"n": number}
        others.put([ValueChange(PLACE, None)])
        assert values.all() == {}
