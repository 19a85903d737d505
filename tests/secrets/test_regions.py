"""Private keys over many lines, and private parts of a text."""

import pytest

from slicebase.secrets.redact import redact

BODY = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"] * 3)
BEGIN, END = "-----BEGIN {}PRIVATE" + " KEY{}-----", "-----END {}PRIVATE" + " KEY{}-----"


@pytest.mark.parametrize(
    ("kind", "block"), [("", ""), ("RSA ", ""), ("OPENSSH ", ""), ("ENCRYPTED ", ""), ("PGP ", " BLOCK")]
)
@pytest.mark.parametrize("times", [1, 2000])
def test_a_private_key_of_any_length_is_replaced(kind: str, block: str, times: int) -> None:
    text = f"a\n{BEGIN.format(kind, block)}\n{BODY * times}\n{END.format(kind, block)}\nb"
    assert redact(text).text == f"a\n{BEGIN.format(kind, block)}[redacted:private-key]{END.format(kind, block)}\nb"


def test_a_private_key_in_json_keeps_the_json() -> None:
    escaped = BODY.replace("\n", "\\n")
    text = f'{{"key": "{BEGIN.format("", "")}\\n{escaped}\\n{END.format("", "")}\\n", "n": 1}}'
    found = redact(text)
    assert found.text == f'{{"key": "{BEGIN.format("", "")}[redacted:private-key]{END.format("", "")}\\n", "n": 1}}'


def test_a_private_key_that_was_cut_off_is_replaced() -> None:
    assert redact(f'x = "{BEGIN.format("RSA ", "")}\n{BODY[:90]}", 1').text.endswith('-----[redacted:private-key]", 1')


def test_a_certificate_and_a_mention_of_a_key_are_kept() -> None:
    text = f"-----BEGIN CERTIFICATE-----\n{BODY}\n-----END CERTIFICATE-----\n{BEGIN.format('', '')}\n...\n"
    assert redact(text).text is text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <private>b</private> c", "a [redacted:private] c"),
        ("a <PRIVATE>\nb\n</Private> c", "a [redacted:private] c"),
        ("a <private>b <private>c</private> d</private> e", "a [redacted:private] e"),
        ("a <private>b", "a [redacted:private]"),
        ("between `<private>` and `</private>` stands c", "between `<private>` and `</private>` stands c"),
        ("a <private>b <private>c</private> d", "a [redacted:private]"),
        ("<private>a</private><private>b</private>", "[redacted:private][redacted:private]"),
        ('<private reason="x" >a</private >b', "[redacted:private]b"),
        (r"a \u003cprivate\u003eb\u003c/private\u003e c", "a [redacted:private] c"),
        ("a </private> b", "a </private> b"),
        ("a <privates> b", "a <privates> b"),
    ],
)
def test_what_is_private_is_removed_with_its_tags(text: str, kept: str) -> None:
    found = redact(text)
    assert found.text == kept
    assert found.counts.get("private", 0) == kept.count("[redacted:private]")


def test_a_secret_in_a_private_part_is_not_counted_on_its_own() -> None:
    assert redact(f"<private>{BEGIN.format('', '')}\n{BODY}\n{END.format('', '')}</private>").counts == {"private": 1}
