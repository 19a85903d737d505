"""JSON Schemas of the records of runs, generated from the types. A test compares them with docs/schemas."""

from collections.abc import Mapping
from inspect import cleandoc
from typing import Any

import msgspec

from slicebase.runs.event import TYPES, Event, EventDraft
from slicebase.runs.evidence import Evidence
from slicebase.runs.records import Snapshot
from slicebase.runs.report import RunReport
from slicebase.runs.status import RunStatus

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_RECORDS: Mapping[str, type] = {
    "event": Event,
    "event-line": EventDraft,
    "evidence": Evidence,
    "snapshot": Snapshot,
    "run-status": RunStatus,
    "run-report": RunReport,
}


def schemas() -> dict[str, dict[str, Any]]:
    """Returns the schemas by name: those of the records, then those of the typed event payloads."""
    payloads = {
        f"payload-{name.lower().replace('_', '-')}": kind.payload for name, kind in TYPES.items() if kind.payload
    }
    return {name: _schema(name, record) for name, record in {**_RECORDS, **payloads}.items()}


def _schema(name: str, record: type) -> dict[str, Any]:
    (schema,), components = msgspec.json.schema_components([record], ref_template="#/$defs/{name}")
    for component in components.values():
        if "description" in component:  # a docstring, which Python 3.13 strips of its indentation and others do not
            component["description"] = cleandoc(component["description"])
    return {"$schema": _DIALECT, "title": name, **schema, "$defs": components}


def to_text(schema: Mapping[str, Any]) -> str:
    """Returns a schema as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"
