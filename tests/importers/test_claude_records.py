"""The same record again: whatever a client changes around what was said, the record is the same (ruling 15)."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from slicebase.importers.claude_records import essence
from slicebase.importers.json_stream import fingerprint
from tests.importers.test_claude_code import call, record, result

RECORDS = [
    record(1, None, "user", "hello"),
    call(2, 1, "c1", command="ls", timeout=None),
    result(3, 2, "c1", "a.py"),
    record(4, 3, "user", [{"type": "text", "text": "x"}], isMeta=True),
]
AROUND = {
    "version": "9.9", "cwd": "/other", "gitBranch": "dev", "slug": None, "sessionId": "another", "requestId": "r",
    "parentUuid": None, "agentId": None, "userType": "internal", "toolUseResult": {"stdout": "x"}, "isMeta": None,
    "thinkingMetadata": None, "entrypoint": "cli", "timestamp": "2027-01-01T00:00:00Z",
}  # fmt: skip


def shuffled(value: Any, draw: st.DataObject) -> Any:
    if isinstance(value, list):
        return [shuffled(inner, draw) for inner in value]
    if not isinstance(value, dict):
        return value
    keys = draw.draw(st.permutations([*value, "absent"]))
    return {key: None if key == "absent" else shuffled(value[key], draw) for key in keys}


@given(st.sampled_from(RECORDS), st.sets(st.sampled_from(sorted(AROUND))), st.data())
def test_a_copy_with_other_keys_around_it_is_the_same_record(
    original: dict[str, Any], changed: set[str], data: st.DataObject
) -> None:
    changes = {key: AROUND[key] for key in changed if not (key == "isMeta" and original.get("isMeta"))}
    copy = shuffled({**original, **changes}, data)
    assert fingerprint(copy, essence).hash == fingerprint(original, essence).hash


def test_other_words_are_another_record() -> None:
    hashes = {fingerprint(json.loads(json.dumps(each)), essence).hash for each in RECORDS}
    assert len(hashes) == len(RECORDS)
    assert fingerprint(record(1, None, "user", "Hello"), essence).hash not in hashes
