"""The requirements of the format, section by section, as `tt validate` checks them."""

from pathlib import Path

import pytest

from tests.files.check.workspace import DIGEST, ID, OTHER, Files, places, pointer, text

NAME = f".slices/{ID}.slice"
PAYLOAD = f"  payload:\n    uri: https://example.org/dump\n    hash: {DIGEST}\n    size: 3\n"


def rules(tmp_path: Path, content: str, around: Files | None = None) -> list[str]:
    return [place.rule for place in places(tmp_path, {NAME: content, **(around or {})})]


def test_a_file_has_frontmatter_between_two_markers(tmp_path: Path) -> None:
    """§ File Structure."""
    assert rules(tmp_path, text()) == []
    assert rules(tmp_path, text().removeprefix("---\n")) == ["no-frontmatter"]
    assert rules(tmp_path, text().removesuffix("---\n")) == ["frontmatter-open"]


def test_all_metadata_is_under_one_key(tmp_path: Path) -> None:
    """§ File Structure."""
    assert rules(tmp_path, text().replace("slice:", "tags: [x]\nslice:")) == ["beside-slice"]


def test_a_file_is_a_context_or_a_pointer(tmp_path: Path) -> None:
    """§ File Kinds."""
    assert rules(tmp_path, text(kind="context")) == []
    assert rules(tmp_path, pointer(PAYLOAD)) == []
    assert rules(tmp_path, text(kind="link")) == ["kind"]


def test_a_pointer_never_contains_its_payload(tmp_path: Path) -> None:
    """§ Pointer."""
    assert rules(tmp_path, pointer(PAYLOAD, "the content itself\n")) == ["pointer-body"]


def test_a_context_has_its_content_in_a_body(tmp_path: Path) -> None:
    """§ Context: any type except none."""
    assert rules(tmp_path, text("none")) == ["kind-body"]


@pytest.mark.parametrize(
    "line",
    ['  v: "1"\n', f"  id: {ID}\n", "  title: Tides\n", "  summary: When the water comes.\n", "    type: markdown\n"],
)
def test_five_fields_are_required(tmp_path: Path, line: str) -> None:
    """§ Required Fields."""
    assert line in text()
    assert rules(tmp_path, text().replace(line, "")) == ["required"]


@pytest.mark.parametrize("body_type", ["markdown", "jsonl", "code", "conversation", "text", "yaml", "routine"])
def test_a_body_has_one_of_eight_types(tmp_path: Path, body_type: str) -> None:
    """§ Required Fields, § Body Types; the eighth is none."""
    assert "body-type" not in rules(tmp_path, text(body_type))
    assert rules(tmp_path, text(body_type + "s")) == ["body-type"]


@pytest.mark.parametrize(
    ("key", "known"),
    [("write", ["append", "replace", "error"]), ("overflow", ["split", "summarize", "archive", "error"])],
)
def test_the_contracts_modes_are_fixed(tmp_path: Path, key: str, known: list[str]) -> None:
    """§ Write, § Overflow; the fourth write mode, supersede, is for rows (ruling 25)."""
    for value in known:
        assert rules(tmp_path, text(more=f"  contract:\n    {key}: {value}\n")) == []
    assert rules(tmp_path, text("jsonl", more="  contract:\n    write: supersede\n")) == []
    assert rules(tmp_path, text(more=f"  contract:\n    {key}: sometimes\n")) == ["contract-enum"]


def test_an_excluded_topic_is_routed_somewhere(tmp_path: Path) -> None:
    """§ Exclude: a link says where the topic belongs."""
    exclude = "  contract:\n    exclude: [Meeting notes]\n"
    link = f"  links:\n    - rel: routes_to\n      to: {OTHER}\n      label: meeting notes\n"
    neighbour: Files = {f".slices/{OTHER}.slice": text(file_id=OTHER)}
    assert rules(tmp_path, text(more=exclude + link), neighbour) == []
    assert rules(tmp_path, text(more=exclude), neighbour) == ["exclude-unrouted"]


def test_a_file_is_found_by_its_id_after_it_was_moved(tmp_path: Path) -> None:
    """§ Required Fields: renaming or moving a file breaks no link."""
    link = f"  links:\n    - rel: see_also\n      to: {OTHER}\n"
    moved: Files = {".slices/elsewhere.slice": text(file_id=OTHER)}
    assert "link-target" not in rules(tmp_path, text(more=link), moved)


def test_every_row_has_an_id_and_a_time(tmp_path: Path) -> None:
    """§ Row Envelope."""
    whole = '{"_meta":{"id":"R1","created_at":"2026-01-01T00:00:00Z"},"text":"x"}\n'
    assert rules(tmp_path, text("jsonl", whole)) == []
    assert rules(tmp_path, text("jsonl", whole.replace('"id":"R1",', ""))) == ["row-id"]
    assert rules(tmp_path, text("jsonl", whole.replace(',"created_at":"2026-01-01T00:00:00Z"', ""))) == [
        "row-created-at"
    ]
    assert rules(tmp_path, text("jsonl", whole + whole)) == ["row-duplicate"]


@pytest.mark.parametrize(("key", "digits"), [("trace_id", 32), ("span_id", 16)])
def test_a_trace_id_and_a_span_id_have_a_fixed_number_of_hex_digits(tmp_path: Path, key: str, digits: int) -> None:
    """§ Conversation."""

    def header(value: str) -> str:
        return text("conversation", more=f"    conversation:\n      {key}: '{value}'\n")

    assert rules(tmp_path, header("a" * digits)) == []
    assert rules(tmp_path, header("a" * (digits - 1))) == ["conversation-header"]
    assert rules(tmp_path, header("g" * digits)) == ["conversation-header"]


def test_a_derived_file_is_stale_once_its_source_changed(tmp_path: Path) -> None:
    """§ Derived Files: the recorded hash and the source's hash now."""
    source: Files = {f".slices/{OTHER}.slice": text(body="new\n", file_id=OTHER)}
    assert rules(tmp_path, text(more=f"  derived_from:\n    id: {OTHER}\n    hash: {DIGEST}\n"), source) == [
        "derived-stale"
    ]


def test_the_library_is_flat_and_named_by_id(tmp_path: Path) -> None:
    """§ Storage."""
    assert [place.rule for place in places(tmp_path, {f".slices/deep/{ID}.slice": text()})] == ["nested-folder"]
    assert "id-name" in rules(tmp_path, text(file_id=OTHER))


def test_an_id_that_is_not_a_ulid_is_accepted_with_a_hint(tmp_path: Path) -> None:
    """§ Identifiers: UUIDs are acceptable, ULIDs recommended (ruling 21)."""
    uuid = "05ce3f25-3b45-539e-8730-509ea3dc8613"
    assert [place.rule for place in places(tmp_path, {f".slices/{uuid}.slice": text(file_id=uuid)})] == ["id-ulid"]
