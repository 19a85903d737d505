"""Settings: every key has a default, and nothing that is no setting goes unnoticed."""

from pathlib import Path

import pytest

from slicebase.files.freshness import HALF_LIFE_DAYS
from slicebase.store.settings import KEYS, Settings, load_settings
from tests.codes import code_of


def test_without_a_file_every_setting_has_its_default(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings(64 * 1024, False, None, HALF_LIFE_DAYS)


def test_the_file_sets_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "slicebase.toml").write_text(
        "overflow.bytes = 1000\n[provenance]\nenabled = true\nagent = 'me'\n[freshness]\nhalf_life_days = 30\n"
    )
    assert load_settings(tmp_path) == Settings(1000, True, "me", 30)


def test_every_key_has_a_field() -> None:
    assert all(hasattr(Settings(), key.field) for key in KEYS.values())


@pytest.mark.parametrize(
    "text",
    ["overflow.bytes = 0", "overflow.bytes = true", "overflow.bytes = 'x'", "overflow = 3", "nonsense = 1",
     "provenance.enabled = 1", "freshness.half_life_days = -1", "freshness.half_life_days = nan", "[", "a = 'é"],
)  # fmt: skip
def test_what_is_no_setting_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "slicebase.toml").write_text(text)
    assert code_of(load_settings, tmp_path) == "bad-setting"


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "slicebase.toml").write_bytes(b"\xff")
    assert code_of(load_settings, tmp_path) == "bad-setting"
