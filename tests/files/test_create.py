"""New slice files: the specification's keys in its order (§ Required Fields and the sections after it)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.files.create import assigned_values, define, new_file
from slicebase.files.model import BODY_TYPES, Code, Contract, Conversation, DerivationSource, Link, Mark, Payload
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.emit import inline
from tests.amounts import MORE
from tests.codes import code_of
from tests.files.strategies import texts, values

SMALL = {"id": "01JNEW0000000000000000001", "title": "A title", "summary": "What it is.", "body_type": "markdown"}


def new(**changes: Any) -> Any:
    return new_file(**{**SMALL, **changes})


def test_a_small_file_has_its_five_required_fields_its_kind_and_its_body() -> None:
    """§ Required Fields."""
    assert new(body=b"\n# Hi\n").to_bytes() == (
        b'---\nslice:\n  v: "1"\n  kind: context\n  id: 01JNEW0000000000000000001\n  title: A title\n'
        b"  summary: What it is.\n  body:\n    type: markdown\n---\n\n# Hi\n"
    )


def test_a_file_with_everything_reads_back_as_it_was_given() -> None:
    given_values: dict[str, Any] = {
        "code": Code("python", "py", ("--strict", "1")),
        "contract": Contract("What: this", ("a, b", "no"), "One per line.", "Never.", "supersede", "split"),
        "links": (Link("depends_on", "./x.slice"), Link("routes_to", "./y/", "Y: z")),
        "derived_from": DerivationSource("01J", "sha256:ab"),
        "meta": {"n": 1, "list": [1, {"a": "b"}], "none": None, "empty": {}},
        "updated_at": "2026-01-31T12:00:00.000Z",
        "archived": Mark("2026-01-31T12:00:00.000Z", "old"),
    }
    file = new(body_type="code", body=b"print()\n", **given_values)
    for name, value in given_values.items():
        assert getattr(file, name) == value, name
    assert list(file.frontmatter["slice"]) == [
        "v", "kind", "id", "title", "summary", "body", "derived_from", "contract", "links", "meta", "updated_at",
        "archived",
    ]  # fmt: skip


def test_a_conversations_header_reads_back() -> None:
    """§ Conversation."""
    header = Conversation(("user",), "agent", "sess", "0" * 32, "1" * 16, "messages", True, False)
    assert new(body_type="conversation", conversation=header).conversation == header


def test_a_tombstone_is_a_pointer_without_a_uri() -> None:
    """Ruling 31."""
    file = new(body_type="none", payload=Payload(hash="sha256:ab", size=3), purged=Mark("2026-01-31T12:00:00.000Z"))
    assert (file.kind, file.body, file.payload) == ("pointer", b"", Payload(None, "sha256:ab", 3))
    assert file.purged == Mark("2026-01-31T12:00:00.000Z")


@given(texts, texts, st.dictionaries(texts, values, max_size=2))
def test_any_texts_and_metadata_read_back(title: str, summary: str, meta: dict[str, Any]) -> None:
    file = new(title=title, summary=summary, meta={"x": 1, **meta})
    assert (file.title, file.summary) == (title, summary)
    assert repr(file.meta) == repr({"x": 1, **meta})


@pytest.mark.parametrize("body_type", BODY_TYPES)
def test_all_eight_body_types_can_be_created(body_type: str) -> None:
    """§ Body Types."""
    assert new(body_type=body_type).body_type == body_type


@pytest.mark.parametrize(
    "changes",
    [
        {"body_type": "html"},
        {"kind": "other"},
        {"contract": Contract(write="sometimes")},
        {"contract": Contract(overflow="explode")},
        {"body_type": "none", "body": b"x"},
        {"kind": "pointer", "payload": Payload("./x"), "body": b"x"},
    ],
)
def test_what_breaks_a_rule_of_the_format_is_not_written(changes: dict[str, Any]) -> None:
    """§ File Kinds (a pointer never contains its payload), § Write, § Overflow, § Body Types."""
    with pytest.raises(SlicebaseError) as caught:
        new(**changes)
    assert caught.value.code == "breaks-rule"


# ---- values of `tt define`


def defined(file: SliceFile, key: str, text: str) -> Any:
    """Returns the value that a key has after it was set and the file was read again."""
    edited = define(file, assigned_values([f"{key}={text}"], lambda value: value))
    value: Any = SliceFile.parse(edited.to_bytes()).frontmatter["slice"]
    for step in key.split("."):
        value = value[step]
    return value


CONVERSATION = new_file(id="01A", title="T", summary="S.", body_type="conversation")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("body.conversation.session_id", "12e5"),
        ("body.conversation.session_id", "null"),
        ("body.conversation.trace_id", "12345678901234567890123456789012"),
        ("body.conversation.span_id", "0000000000000010"),
        ("meta.commit", "1234e56"),
        ("meta.trace", "12345678901234567890"),
        *(("meta.v", text) for text in ("010", "1_000", "0x1F", "1.10", "+5", ".5", "1e5", "2026-01-01", "True", "~")),
        ("title", "12e5"),
        ("contract.purpose", "1.0"),
    ],
)
def test_a_text_stays_the_text_that_was_given(key: str, text: str) -> None:
    assert defined(CONVERSATION, key, text) == text


def test_ordinary_values_are_what_they_look_like() -> None:
    for text, value in (("42", 42), ("0.5", 0.5), ("-7", -7), ("true", True), ("false", False), ("null", None)):
        found = defined(CONVERSATION, "meta.v", text)
        assert (found, type(found)) == (value, type(value))
    assert defined(CONVERSATION, "meta.v", "[a, 1, 12e5, '2', {b: true, c: 010}]") == [
        "a", 1, "12e5", "2", {"b": True, "c": "010"},
    ]  # fmt: skip
    assert defined(CONVERSATION, "meta.v", '"42"') == "42"
    assert defined(CONVERSATION, "meta.v", "'tis the season") == "'tis the season"
    assert defined(CONVERSATION, "body.conversation", "{session_id: 12, format: messages}")["session_id"] == "12"
    assert code_of(defined, CONVERSATION, "meta.v", "[a, ") == "yaml-syntax"


_spellings = st.from_regex(r"[-+]?[0-9._]{0,4}[0-9a-fA-FxXoOeE:_.+-]{1,8}", fullmatch=True)
_words = st.sampled_from(["null", "Null", "~", "true", "TRUE", "no", ".inf", "-.INF", ".nan", "1e400", "0o7", "-0"])
_plain = (_spellings | _words | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)).filter(
    lambda text: text[0] not in "[{\"'"
)


@settings(max_examples=100 * MORE)
@given(_plain, st.sampled_from(["meta.v", "title", "body.conversation.session_id"]))
def test_any_text_is_read_again_as_itself_or_as_a_number_that_is_printed_like_it(text: str, key: str) -> None:
    value = defined(CONVERSATION, key, text)
    assert value == text or (key == "meta.v" and inline(value) == text)
