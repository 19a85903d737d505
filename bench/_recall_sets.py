"""What `bench recall` asks: histories, each in a workspace of its own, and questions with the turns that answer them.

- LoCoMo: a history is one of ten long chats of two people, 5,882 turns in all. All evidence turns of a question answer
  it. Adversarial questions are left out.
- BEAM: a history is one of twelve long conversations of a user with an assistant. All turns that a question names
  answer it. Abstention is left out.
- Coding: the history is all sessions of a coding agent together, since that is what a user has. Any of the gold turns
  of a question answers it.

Each set has a half for tuning and a half to report. LoCoMo: five conversations each. BEAM: 1 to 8, and 9 to 12. Coding:
`coding_questions.json` names the half of each session; the history is the same.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from slicebase.base import Slicebase
from slicebase.core.ids import turn_id
from slicebase.core.times import from_text
from slicebase.graph.contents import plain_text
from slicebase.graph.record import TurnRecord
from slicebase.graph.turn import Parent, Part, Role, Session, Turn
from slicebase.history.annotate import Annotator
from slicebase.verbs.imports import index_new_turns

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CODING = Path(__file__).with_name("coding_questions.json")

Half = Literal["tune", "report"]
HALVES: tuple[Half, ...] = ("tune", "report")


class Asked(NamedTuple):
    """A question, and the turns that answer it: all of them together, or each alone."""

    text: str
    evidence: frozenset[str]
    each_answers: bool = False

    def answered_by(self, turns: Collection[str]) -> float:
        """Returns how much of the answer is in these turns, from 0 to 1."""
        found = self.evidence.intersection(turns)
        return float(bool(found)) if self.each_answers else len(found) / len(self.evidence)


class History:
    """The turns of a workspace, and the questions that are asked of them, if a turn answers them."""

    def __init__(self, memory: Slicebase, asked: Iterable[Asked]) -> None:
        self.memory = memory
        index_new_turns(memory)
        stored = memory.truth.turns
        self.sessions = {session.id: session for session, _ in stored.sessions()}
        self.records = {each.record.id: each.record for session in self.sessions for each in stored.of_session(session)}
        known = self.records.keys()
        self.questions = [each._replace(evidence=found) for each in asked if (found := each.evidence & known)]

    @cached_property
    def texts(self) -> dict[str, str]:
        """The text of each turn as the index reads it; without turns that have none."""
        found = {turn: plain_text(self.memory.truth.with_content(each).parts) for turn, each in self.records.items()}
        return {turn: text for turn, text in found.items() if text.strip()}

    @cached_property
    def newest_first(self) -> list[str]:
        return sorted(self.texts, key=self._moment, reverse=True)

    def _moment(self, turn: str) -> tuple[int, str]:
        return from_text(self.records[turn].time), turn

    @property
    def as_of(self) -> str:
        """The time of the newest turn: the questions are asked then."""
        return self.records[self.newest_first[0]].time

    @cached_property
    def neighbours(self) -> dict[str, list[str]]:
        """Each turn, then up to two turns on each side in its session, nearest first."""
        near = {}
        for records in self._by_session().values():
            for place, record in enumerate(records):
                places = [at for at in (place, place - 1, place + 1, place - 2, place + 2) if 0 <= at < len(records)]
                near[record.id] = [records[at].id for at in places]
        return near

    def _by_session(self) -> dict[str, list[TurnRecord]]:
        found: dict[str, list[TurnRecord]] = {}
        for turn, record in self.records.items():
            if turn in self.texts:
                found.setdefault(record.session, []).append(record)
        return found


@contextmanager
def workspace(turns: Iterable[Turn] = ()) -> Iterator[Slicebase]:
    """Opens a temporary workspace that has these turns."""
    with TemporaryDirectory() as folder, Slicebase.init(folder) as memory:
        sessions: dict[str, list[Turn]] = {}
        for turn in turns:
            sessions.setdefault(turn.session, []).append(turn)
        with memory.truth.database.bulk():
            for name, own in sessions.items():
                memory.truth.turns.add(Session(name, "bench"), own, Annotator(memory.truth))
        yield memory


def turn_of(own: str, session: str, role: Role, text: str, time: int, before: str | None) -> Turn:
    return Turn(own, session, role, (Part("text", text=text),), time, (Parent(before),) if before else (), "")


# LoCoMo

_TUNED = frozenset({"conv-26", "conv-30", "conv-41", "conv-42", "conv-43"})
_ADVERSARIAL = 5


class LocomoSample(NamedTuple):
    name: str
    turns: list[Turn]
    asked: list[Asked]


def locomo_samples() -> Iterator[LocomoSample]:
    """Yields the conversations; none where the data is absent."""
    path = DATA / "locomo" / "locomo10.json"
    for sample in json.loads(path.read_text()) if path.exists() else ():
        name: str = sample["sample_id"]
        asked = [
            Asked(each["question"], frozenset(turn_id("locomo", name, own) for own in each["evidence"]))
            for each in sample["qa"]
            if each["category"] != _ADVERSARIAL
        ]
        yield LocomoSample(name, list(_locomo_turns(name, sample["conversation"])), asked)


def locomo(half: Half) -> Iterator[History]:
    for sample in locomo_samples():
        if (sample.name in _TUNED) == (half == "tune"):
            with workspace(sample.turns) as memory:
                yield History(memory, sample.asked)


def _locomo_turns(name: str, conversation: dict[str, Any]) -> Iterator[Turn]:
    """Yields the turns of a conversation, each a reply to the one before it in its session."""
    sessions = [key for key in conversation if re.fullmatch(r"session_\d+", key)]
    for session in sorted(sessions, key=lambda key: int(key.partition("_")[2])):
        moment = datetime.strptime(conversation[f"{session}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        before = None
        for place, turn in enumerate(conversation[session]):
            caption = f" {turn['blip_caption']}" if turn.get("blip_caption") else ""
            text = f"{turn['speaker']}: {turn['text']}{caption}"
            own = turn_id("locomo", name, turn["dia_id"])
            yield turn_of(own, f"{name}/{session}", "user", text, int(moment.timestamp() * 1000) + place, before)
            before = own


# BEAM

_LAST_TUNED = 8
_MARK = re.compile(r"\s*->->[\s\d,]*\Z")  # of the generator, at the end of a user's text


def beam(half: Half) -> Iterator[History]:
    folders = sorted((path.parent for path in (DATA / "beam").glob("*/chat.json")), key=lambda path: int(path.name))
    for folder in folders:
        if (int(folder.name) <= _LAST_TUNED) == (half == "tune"):
            with workspace(_beam_turns(folder.name, json.loads((folder / "chat.json").read_text()))) as memory:
                kinds = json.loads((folder / "probing_questions.json").read_text()).values()
                yield History(memory, _beam_questions(folder.name, (each for kind in kinds for each in kind)))


def _beam_questions(name: str, asked: Iterable[dict[str, Any]]) -> Iterator[Asked]:
    for each in asked:
        numbers = _numbers(each.get("source_chat_ids"))
        yield Asked(each["question"], frozenset(turn_id("beam", name, str(number)) for number in numbers))


def _beam_turns(name: str, batches: list[dict[str, Any]]) -> Iterator[Turn]:
    moment, before = 0, None
    for message in (message for batch in batches for group in batch["turns"] for message in group):
        if anchor := message.get("time_anchor"):  # that of the messages after it, too
            moment = int(datetime.strptime(anchor, "%B-%d-%Y").replace(tzinfo=UTC).timestamp() * 1000)
        own = turn_id("beam", name, str(message["id"]))
        time = moment + message["id"] if moment else 0
        yield turn_of(own, name, message["role"], _MARK.sub("", message["content"]), time, before)
        before = own


def _numbers(named: Any) -> Iterator[int]:
    """Yields the numbers of turns, which may be nested."""
    if isinstance(named, int):
        yield named
    elif isinstance(named, dict | list):
        for each in named.values() if isinstance(named, dict) else named:
            yield from _numbers(each)


# Coding sessions


def coding(half: Half) -> Iterator[History]:
    folder = DATA / "claude-code"
    if folder.exists():
        with workspace() as memory:
            memory.import_([folder])
            asked = list(coding_questions(half))
            history = History(memory, asked)
            if history.questions != asked:
                raise ValueError("a gold turn is not in the data")
            yield history


def coding_questions(half: Half) -> Iterator[Asked]:
    for session in json.loads(CODING.read_text())["sessions"]:
        if session["half"] == half:
            for each in session["questions"]:
                yield Asked(each["question"], frozenset(each["gold"]), each_answers=True)


SETS: dict[str, Callable[[Half], Iterator[History]]] = {"locomo": locomo, "beam": beam, "coding": coding}
