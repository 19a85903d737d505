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


def with_result(content: Any, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "c1", "content": content, **more}
    return record(3, 2, "user", [block])


CACHED = {"cache_control": {"type": "ephemeral"}}


def hash_of(each: dict[str, Any]) -> str:
    return fingerprint(each, essence).hash


def test_what_a_client_asks_to_be_cached_is_no_part_of_a_record() -> None:
    for blocks in ([{"type": "text", "text": "x"}], [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]):
        copy = [*blocks[:-1], {**blocks[-1], **CACHED}]
        assert hash_of(record(1, None, "user", blocks)) == hash_of(record(1, None, "user", copy))
    assert hash_of(with_result("a.py")) == hash_of(with_result("a.py", **CACHED))
    assert hash_of(record(1, None, "user", "x")) == hash_of(
        record(1, None, "user", [{"type": "text", "text": "x", **CACHED}])
    )


def test_a_result_is_the_same_as_text_and_as_its_only_block() -> None:
    text = {"type": "text", "text": "a.py"}
    assert hash_of(with_result("a.py")) == hash_of(with_result([text])) == hash_of(with_result([{**text, **CACHED}]))
    others: list[Any] = [
        "a.pyx",
        [text, text],
        ["a.py"],
        [{**text, "more": "z"}],
        [{"type": "image", "text": "a.py"}],
        [],
    ]
    assert len({hash_of(with_result(each)) for each in ("a.py", *others)}) == len(others) + 1


def test_other_words_are_another_record() -> None:
    hashes = {fingerprint(json.loads(json.dumps(each)), essence).hash for each in RECORDS}
    assert len(hashes) == len(RECORDS)
    assert fingerprint(record(1, None, "user", "Hello"), essence).hash not in hashes
