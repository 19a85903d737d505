"""Redaction as a whole: marks, counts, values, and what holds for every text."""

import json
from itertools import product
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.secrets.issuers import ISSUED
from slicebase.secrets.redact import Redactor, built_in, redact, redact_value
from slicebase.secrets.rule_file import read_rules
from slicebase.secrets.scan import table
from tests.secrets.samples import positive
from tests.secrets.test_context import PASSWORD, VALUE

KEYS = sorted({positive(rule) for rule in table(ISSUED)})
PIECES = st.one_of(
    st.text(alphabet="abc XYZ_-./:=@\n'\"\\0é", max_size=20),
    st.sampled_from(KEYS),
    st.sampled_from(
        ["password=", '"token": "', "api_key = ", "://a:", "@b", "<private>", "</private>", "Bearer ", VALUE]
    ),
    st.sampled_from(
        ["-----BEGIN PRIVATE" + " KEY-----", "[redacted:x]", "curl -u a:", PASSWORD, "heroku", "eyJ", "\\n"]
    ),
)
TEXTS = st.builds(
    lambda pieces, joint: joint.join(pieces), st.lists(PIECES, max_size=7), st.sampled_from(["", " ", "-", "="])
)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_a_second_redaction_changes_nothing(text: str) -> None:
    once = redact(text)
    twice = redact(once.text)
    assert twice.text == once.text
    assert not twice.counts


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_each_mark_is_counted_and_nothing_else_is_added(text: str) -> None:
    found = redact(text)
    marks = sum(found.text.count(f"[redacted:{label}]") for label in found.counts)
    assert marks - sum(text.count(f"[redacted:{label}]") for label in found.counts) == sum(found.counts.values())
    assert len(found.text) <= len(text) + sum(
        len(f"[redacted:{label}]") * count for label, count in found.counts.items()
    )
    assert found.counts or found.text is text


@given(st.text(alphabet="abcdefgh ijklmnop\n,;", max_size=300))
def test_a_text_of_words_is_the_same_object(text: str) -> None:
    assert redact(text).text is text


@settings(max_examples=200, deadline=None)
@given(st.recursive(st.one_of(TEXTS, st.integers(), st.none()),
                    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
                    max_leaves=6))  # fmt: skip
def test_a_value_stays_a_value_of_the_same_form(value: object) -> None:
    found = redact_value(value).value
    assert json.loads(json.dumps(found)) == found
    assert type(found) is type(value)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.text("abkeytokn_", max_size=9),
        st.sampled_from([*KEYS, VALUE, PASSWORD, 'a1"b!c"d', "x1\\y!z", 'a"b', "c\\d"]),
        max_size=4,
    )
)
def test_the_text_of_json_stays_json(value: dict[str, str]) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=1), json.dumps(json.dumps(value))):
        json.loads(redact(text).text)


@pytest.mark.parametrize("joint", ["\n", "\r\n", "\\n", '", "', " | "])
def test_keys_on_several_lines_are_each_replaced(joint: str) -> None:
    found = redact(joint.join(KEYS))
    assert sum(found.counts.values()) >= len(KEYS) * 0.97  # some keys contain others
    assert not [key for key in KEYS if key in found.text]


def test_the_names_of_entries_are_context() -> None:
    found = redact_value({"password": PASSWORD, "api_key": VALUE, "user": VALUE, "note": [f"token={VALUE}"], "n": 1})
    marks = {"password": "[redacted:password]", "api_key": "[redacted:secret]", "user": VALUE, "n": 1}
    assert found.value == marks | {"note": ["token=[redacted:secret]"]}
    assert found.counts == {"password": 1, "secret": 2}


def test_the_report_has_labels_and_no_values() -> None:
    found = redact(f"password='{PASSWORD}' and {KEYS[0]}")
    assert PASSWORD not in repr(found)
    assert KEYS[0] not in repr(found)


def test_a_rule_of_the_user_is_applied() -> None:
    redactor = Redactor(read_rules("[[rule]]\nname = 'acme-pin'\npattern = 'acme-pin=(?P<secret>\\d{4,8})'"))
    found = redact("my acme-pin=123456, and yours", redactor)
    assert found == ("my acme-pin=[redacted:acme-pin], and yours", {"acme-pin": 1})
    assert redact("my acme-pin=123456, and yours").text == "my acme-pin=123456, and yours"


HARD = [
    "-eyJ",
    "eyJ" + "a1" * 10 + ".",
    "<private>",
    "</private>",
    "<private ",
    r"\u003cprivate",
    "-----BEGIN ",
    "-----BEGIN A B C ",
    "-----BEGIN PRIVATE" + " KEY-----",
    "-----",
    "://",
    "://a:",
    "://a:bbb",
    "curl ",
    "curl -u ",
    'password="',
    "password=",
    "password: ",
    "pwd>",
    'api_key="',
    "=",
    '"a1b2c3d4e5f6g7h8":"',
    "a1b2c3d4e5f6g7h8i9=",
    "heroku=a1b2c3d4e5f6g7h8i9.",
    "Bearer a1b2c3d4e5f6g7h8 ",
    "a",
    "1",
    "-",
    "_",
    "~",
    "aA1+",
    "A1b2/",
    "\\",
    '"',
    "[redacted:",
    "Q~",
    ":A",
    "|",
    "é",
    "password='a1'\n",
    "a-",
    "sk-",
    "test_1",
    "\x1b]",
    "\x1b[1m",
    "\\u001b]",
    "\\u0041",
    "%3Dghp_",
    "xghp_",
    "xeyJ",
    "x_sk_live_1",
    "\u200b",
    "-----BEGIN PRIVATE" + " KEY----------END ",
    "PASSWORD=a1b2c3 ",
    "PASSWORD=aaaaaa ",
    "&password=aaaaaa",
    "a=b;Password=aaaaaa",
    "user=a password=aaaaaa ",
    "password = aaaaaa!",
    "smtp_pass=",
    "IDENTIFIED BY '",
    "curl -ua:",
    "curl.exe ",
    "Cookie: a=aaaaaaaaaaaaaaaa1;",
    "Cookie; a=aaaaaaaaaaaaaaaa1",
    "; a=aaaaaaaaaaaaaaaa1",
    "password:\n",
    "password: |\n ",
    'token:\n "',
    'token:\n "aaaaaaaaaaaaaaaa1',
    "/EAAAaaaaaaaaaaaaaaaaaaaaaa1",
    "**API Key:** ",
    "Private-Lines: 1\n",
    "---- BEGIN SSH2 PRIVATE" + " KEY ----\na: b\n",
    "x<Private>",
    "x<Private></private>",
    "<private a=b ",
    "&lt;private&gt;",
    "< private",
    "<Private>True</Private>",
]


NAMES = ["token", "api_key", "heroku", "acme_key", "password", "Authorization: Bearer", "https://a:b", "curl -u a:b"]
JOINTS = ["=", ": ", "%", "/", ".", '="', "@", "&"]
HARD += [
    f"{before}{name}{joint}{value}{after}"
    for number, (name, joint) in enumerate(product(NAMES, JOINTS))
    for before, value, after in [
        (" ./-"[number % 4], ["a" * 16 + "1", "a1", "a1B2c3D4e5F6g7H8", ""][number // 4 % 4], "./(%"[number // 8 % 4])
    ]
]
GENERATED = len(NAMES) * len(JOINTS)
ENDED = [(unit, "") for unit in HARD[:-GENERATED]] + list(product(HARD[-GENERATED:], ["", "1", "("]))


def seconds(text: str) -> float:
    start = process_time()
    redact(text)
    return process_time() - start


@pytest.mark.growth
@pytest.mark.parametrize(("unit", "end"), ENDED)
def test_the_time_grows_like_the_text(unit: str, end: str) -> None:
    """Four times the text takes about four times as long, not sixteen times."""
    built_in()
    size = 20_000 if (unit, end) in ENDED[-3 * GENERATED :] else 80_000
    short, long = unit * (size // len(unit)) + end, unit * (4 * size // len(unit)) + end
    assert min(seconds(long) for _ in range(2)) < 9 * max(min(seconds(short) for _ in range(2)), 0.01)
