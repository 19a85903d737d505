"""Content that is too large for a payload becomes a blob (ruling 33)."""

from slicebase.core.hashing import canonical, digest
from slicebase.runs.event import MAX_PAYLOAD, EventDraft, LogHead, append, move_to_blobs
from tests.runs.made import NOW, RUN


def test_long_texts_of_a_large_payload_become_blobs_at_every_level() -> None:
    long, longer = "é" * 40_000, "x" * 90_000
    draft = EventDraft(
        type="OBSERVE_DONE", step=1, time=NOW, payload={"out": {"lines": [long, "short"]}, "err": longer}
    )
    spilled, blobs = move_to_blobs(draft)
    assert blobs == {digest(text.encode()): text.encode() for text in (long, longer)}
    assert len(canonical(spilled.payload)) < MAX_PAYLOAD
    assert spilled.payload["out"]["lines"][1] == "short"
    assert spilled.payload["err"] == {"blob": digest(longer.encode()), "bytes": 90_000, "head": "x" * 500}
    assert (spilled.type, spilled.step, spilled.time) == (draft.type, draft.step, draft.time)
    append(LogHead(RUN), spilled, NOW)
