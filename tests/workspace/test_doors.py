"""The redaction of an open workspace: values, payloads of any size and kind, and what turns it off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slicebase.files.body.rows import Provenance
from slicebase.workspace import doors
from slicebase.workspace.doors import Redaction, is_on
from tests.codes import code_of

TOKEN = "gh" + "p_" + "7hQ2mZ9xK4vB8nR1cT6wY3jL5sD0fG2aE9uP"
MARK = "[redacted:github-token]"


@pytest.fixture
def redaction(tmp_path: Path) -> Redaction:
    return Redaction(tmp_path, lambda: None)


def test_values_keep_their_form(redaction: Redaction, tmp_path: Path) -> None:
    given: dict[str, Any] = {"a": [TOKEN, 1, None, {"b": TOKEN}], "password": "s3cret!x"}
    assert redaction.value(given) == {"a": [MARK, 1, None, {"b": MARK}], "password": "[redacted:password]"}
    assert redaction.value(Provenance(agent=TOKEN)) == Provenance(agent=MARK)
    assert redaction.value(text for text in (TOKEN, "x")) == [MARK, "x"]
    for same in (7, None, b"x", tmp_path, True, 1.5):
        assert redaction.value(same) is same
    assert redaction.counts == {"github-token": 4, "password": 1}


def test_a_value_without_secrets_is_the_same_object(redaction: Redaction) -> None:
    value = {"text": "all tests pass", "steps": [1, 2]}
    assert redaction.value(value) is value


def test_a_value_that_is_nested_too_deeply_is_refused(redaction: Redaction) -> None:
    value: Any = TOKEN
    for _ in range(100_000):
        value = [value]
    assert code_of(redaction.value, value) == "not-json-value"
    assert code_of(redaction.value, {"a": value}) == "not-json-value"


def chunks(data: bytes, size: int = 1000) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def test_a_payload_that_is_too_large_to_change_is_searched(
    redaction: Redaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors, "_LARGEST", 10_000)
    plain = b"word " * 5_000
    assert b"".join(redaction.copied("it", chunks(plain))) == plain
    for at in (0, 9_990, 20_990, 24_990):  # at the border of two pieces, too
        data = plain[:at] + f" {TOKEN} ".encode() + plain[at:]
        assert code_of(lambda data=data: list(redaction.copied("it", chunks(data)))) == "holds-secret"


def test_bytes_are_redacted_in_place_for_a_record_and_refused_for_a_copy(redaction: Redaction, tmp_path: Path) -> None:
    data = b"\xff\0 " + TOKEN.encode() + b" \xfe"
    assert redaction.data(data) == b"\xff\0 " + MARK.encode() + b" \xfe"
    assert code_of(lambda: list(redaction.copied("it", chunks(data)))) == "holds-secret"
    assert b"".join(Redaction(tmp_path, lambda: None, enabled=False).copied("it", chunks(data))) == data


@pytest.mark.parametrize("value", ["off", "0", "False", " no "])
def test_the_environment_turns_it_off(value: str) -> None:
    assert not is_on({"SLICEBASE_REDACT": value})


@pytest.mark.parametrize("value", ["", "on", "1", "maybe"])
def test_anything_else_leaves_it_on(value: str) -> None:
    assert is_on({"SLICEBASE_REDACT": value})
