"""The schemas in docs/schemas match the types."""

from typing import Any

import msgspec
import pytest

from slicebase.runs.event import TYPES
from slicebase.runs.schemas import schemas, to_text
from tests.paths import PROJECT
from tests.runs.golden import assert_golden
from tests.runs.made import FULL, compacted, log

FOLDER = PROJECT / "docs" / "schemas"


@pytest.mark.parametrize("name", schemas())
def test_a_schema_in_the_docs_matches_its_type(name: str) -> None:
    assert_golden(f"{name}.json", to_text(schemas()[name]).encode(), FOLDER)


def test_no_schema_in_the_docs_is_left_over() -> None:
    ours = {f"{name}.json" for name in schemas()}
    run_schemas = {path.name for path in FOLDER.glob("payload-*.json")}
    assert run_schemas <= ours


def conforms(value: Any, schema: dict[str, Any]) -> None:
    """Validates with the reference implementation if it is installed."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(schema).validate(value)


def test_a_snapshot_and_the_events_of_a_run_conform_to_their_schemas() -> None:
    made = schemas()
    conforms(compacted(*FULL).snapshot, made["snapshot"])
    for event in log(*FULL, *compacted(*FULL).drafts):
        conforms(msgspec.to_builtins(event), made["event"])
        if TYPES[event.type].payload:
            conforms(event.payload, made[f"payload-{event.type.lower().replace('_', '-')}"])
