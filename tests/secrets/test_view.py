"""Secrets behind what a reader does not see: colours, invisible characters, escapes, and words around them."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.secrets.redact import redact
from slicebase.secrets.regions import SecretSpan
from slicebase.secrets.view import View

GITHUB = "gh" + "p_" + "7hQ2mZ9xK4vB8nR1cT6wY3jL5sD0fG2aE9uP"
AWS = "AK" + "IA2J5QXW7NR3TBV6MC"
GOOGLE = "AI" + "zaSyD3x9K2mQ7vB8nR1cT6wY3jL5sD0fG2aE9"
SLACK = "xo" + "xb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx"
STRIPE = "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dcAbCdEf"
JWT = "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
KEYS = (GITHUB, AWS, GOOGLE, SLACK, STRIPE, JWT)
PASSWORD = "Tr0ub4dor" + "&3x"


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "frame",
    [
        "x{}", "token{}", "7{}", "é{}", "{}é", "__{}__", "**{}**", "a\\n{}\\nb", "a\\\\n{}", "a\\t{}",
        "\x1b[01;31m{}\x1b[m", "\\u001b[31m{}\\u001b[0m", "\\x1b[1m{}", "\\033[1m{}", "\x1b]8;;x\x07{}",
        "\ufeff{}", "\u200b{}\u200b", "\\u0022{}\\u0022", "\\\\u0022{}", "key%3D{}", "%22{}%22", "&quot;{}&quot;",
    ],
)  # fmt: skip
def test_a_key_is_found_behind_what_hides_it(key: str, frame: str) -> None:
    found = redact(frame.format(key)).text
    assert key[:14] not in found
    assert key[-14:] not in found


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("hidden", ["\u200b", "\x1b[0m\x1b[K", "\u00ad", "\\u001b[0m", "\u2060\u200d"])
def test_a_key_is_found_with_something_hidden_in_it(key: str, hidden: str) -> None:
    found = redact(f"see {key[:9]}{hidden}{key[9:]} there")
    assert found.text == f"see [redacted:{next(iter(found.counts))}] there"


@pytest.mark.parametrize(
    "text",
    [
        '{{\\"password\\": \\"{}\\"}}', '{{\\\\\\"password\\\\\\": \\\\\\"{}\\\\\\"}}',
        '{{\\\\\\\\\\\\\\"password\\\\\\\\\\\\\\": \\\\\\\\\\\\\\"{}\\\\\\\\\\\\\\"}}',
        "\\u0022password\\u0022:\\u0022{}\\u0022", "\x1b[33mpassword\x1b[0m=\x1b[1m'{}'\x1b[m",
        "postgres:\\/\\/user:{}@host\\/db", "redis://:{}@host:6379", "https://u:{}@h",
    ],
)  # fmt: skip
def test_a_password_is_found_behind_what_hides_it(text: str) -> None:
    assert PASSWORD not in redact(text.format(PASSWORD)).text


@pytest.mark.parametrize(
    "text", ["task_test_of_the_10_first_steps", "the fooxoxb-like-this-one-2", "monkey_api_key-2_of_3"]
)
def test_the_inside_of_an_ordinary_word_is_kept(text: str) -> None:
    assert redact(text).text is text


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "password", "x"]), st.sampled_from([*KEYS, PASSWORD, "<é>", "a\x1b[1mb"])))
def test_json_with_escapes_stays_json(value: dict[str, str]) -> None:
    text = json.dumps(value).replace("&", "\\u0026").replace("_", "\\u005f").replace("p", "\\u0070")
    found = redact(text).text
    assert json.loads(found).keys() == value.keys()
    assert not any(key in json.loads(found).values() for key in KEYS)


@given(st.lists(st.sampled_from(["ab", "\u200b", "\\u0041", "\x1b[1m", ":\\/\\/", "%3D", "é"]), max_size=12))
def test_each_character_of_a_view_has_its_place(pieces: list[str]) -> None:
    text = "".join(pieces)
    view = View(text)
    places = [view.original(SecretSpan(at, at + 1, "x")) for at in range(len(view.text))]
    for shown, place in zip(view.text, places, strict=True):
        taken = text[place.start : place.end]
        assert shown in (taken, View(taken).text) or (shown, taken) == ("/", r"\/\/")
    assert all(one.start <= other.start and one.end <= other.end for one, other in pairwise(places))


@pytest.mark.parametrize(
    "frame", ["{}\n", '"{}\\n" +\n', "{}\\n", "{}\\\\n", "     7\t{}\n", "    7→{}\n", "> {}\n", "\x1b[32m{}\x1b[0m\n"]
)
def test_a_private_key_is_found_whatever_is_around_its_lines(frame: str) -> None:
    lines = [GITHUB[4:] * 2 + str(number) for number in range(30)]
    around = ["-----BEGIN RSA PRIVATE" + " KEY-----", *lines, "-----END RSA PRIVATE" + " KEY-----"]
    found = redact("".join(frame.format(line) for line in around))
    assert GITHUB[4:] not in found.text
    assert "-----END" in found.text


def test_code_that_names_the_lines_of_a_key_is_kept() -> None:
    code = "if '-----BEGIN PRIVATE" + " KEY-----' in text:\n    return text.find('-----END PRIVATE" + " KEY-----')\n"
    assert redact(code).text is code
