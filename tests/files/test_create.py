"""New slice files: the specification's keys in its order (§ Required Fields and the sections after it)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.files.create import new_file
from slicebase.files.model import BODY_TYPES, Code, Contract, Conversation, DerivationSource, Link, Mark, Payload
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
