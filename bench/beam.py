"""Evidence recall on BEAM-100K: long conversations of a user with an assistant, which nothing here was tuned on.

For each question, the turns of its own conversation are ranked, as for LoCoMo (`bench.locomo`). Its evidence are the
turns that the question names; abstention, which no turn answers, is left out. The assistant's turns are long: about a
thousand tokens each.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.locomo import Asked, Conversation, compare
from slicebase.core.ids import turn_id
from slicebase.index.turn_schema import IndexedTurn

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "beam"
_MARK = re.compile(r"\s*->->[\s\d,]*\Z")  # of the generator, at the end of a user's text


def run() -> None:
    folders = sorted((path.parent for path in DATA.glob("*/chat.json")), key=lambda path: int(path.name))
    if not folders:
        print("BEAM: skipped, its data is not here")
        return
    compare("BEAM", {"reported": [_conversation(folder) for folder in folders]})


def _conversation(folder: Path) -> Conversation:
    batches = json.loads((folder / "chat.json").read_text())
    questions = json.loads((folder / "probing_questions.json").read_text())
    asked = (
        Asked(each["question"], frozenset(_id(folder.name, number) for number in _numbers(each.get("source_chat_ids"))))
        for kind in questions.values()
        for each in kind
    )
    return Conversation(folder.name, _turns(folder.name, batches), asked)


def _turns(name: str, batches: list[dict[str, Any]]) -> Iterator[IndexedTurn]:
    moment = 0
    before: tuple[str, ...] = ()
    for message in (message for batch in batches for group in batch["turns"] for message in group):
        if anchor := message.get("time_anchor"):  # that of the messages after it, too
            moment = int(datetime.strptime(anchor, "%B-%d-%Y").replace(tzinfo=UTC).timestamp() * 1000)
        own = _id(name, message["id"])
        time = moment + message["id"] if moment else 0
        text = f"{message['role'].capitalize()}: {_MARK.sub('', message['content'])}"
        yield IndexedTurn(own, name, time, before, text, message["role"])
        before = (own,)


def _numbers(named: Any) -> Iterator[int]:
    """Yields the numbers of turns, which may be nested."""
    if isinstance(named, int):
        yield named
    elif isinstance(named, dict | list):
        for each in named.values() if isinstance(named, dict) else named:
            yield from _numbers(each)


def _id(name: str, number: int) -> str:
    return turn_id("beam", name, str(number))


if __name__ == "__main__":
    run()
