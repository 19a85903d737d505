"""The same id in two conversations of an export: both messages are kept, in whichever order they are imported."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from slicebase.core.ids import turn_id
from slicebase.history.annotate import Annotator
from slicebase.history.imports import import_inputs
from slicebase.history.inputs import inputs
from slicebase.importers.values import Options
from slicebase.truth.truth import Truth

SHARED, LEFT, RIGHT = (f"0000000{number}-0000-4000-8000-000000000000" for number in (1, 2, 3))


def said(text: str) -> dict[str, Any]:
    return {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}, "create_time": 1.7e9}


def conversation(name: str, text: str, child: str) -> dict[str, Any]:
    mapping = {
        SHARED: {"parent": None, "message": said(text), "children": [child]},
        child: {"parent": SHARED, "message": said(f"after {text}"), "children": []},
    }
    return {"conversation_id": name, "title": name, "current_node": SHARED, "mapping": mapping}


ONE, OTHER = conversation("one", "first", LEFT), conversation("other", "second", RIGHT)


@pytest.mark.parametrize("order", [((ONE, OTHER),), ((OTHER, ONE),), *permutations([(ONE,), (OTHER,), (ONE, OTHER)])])
def test_both_messages_are_kept_and_each_has_its_own_children(
    order: tuple[tuple[dict[str, Any], ...], ...], truth: Truth, tmp_path: Path
) -> None:
    for number, export in enumerate(order):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(export))
        account = import_inputs(truth, inputs([path]), Options(), annotate=Annotator(truth))
        assert account.content_left_out == 0
    for session, text, child in (("one", "first", LEFT), ("other", "second", RIGHT)):
        records = [stored.record for stored in truth.turns.of_session(session)]
        assert [truth.text_of(record) for record in records] == [text, f"after {text}"]
        assert records[1].parents == ((records[0].id, "reply"),)
        assert records[0].id in (SHARED, turn_id("chatgpt", session, SHARED))
        assert truth.turns.session(session).facts["shown_last"] == records[0].id
        assert records[1].id == child


def test_a_copied_message_is_the_same_turn_in_both_conversations(truth: Truth, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([conversation("one", "same", LEFT), conversation("other", "same", RIGHT)]))
    account = import_inputs(truth, inputs([path]), Options(), annotate=Annotator(truth))
    assert (account.added, account.known, account.continues) == (3, 1, 1)
