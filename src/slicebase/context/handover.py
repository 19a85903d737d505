"""What an agent needs to continue a conversation, as the claims and open questions of its run (ruling 55).

It is what `tt lost` looks for (`lost.follow.items`): standing instructions, decisions, findings, artefacts, and
commands that tested or built and worked; the files that were written or read last, with their state; and the last
prompt, if it was answered. Each is a claim of a `kind`, a candidate, with its words as evidence. An open task, a
prompt without an answer, and what the user was asked are questions.
What is over (done, resolved, revised, rejected …) is neither.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import islice
from typing import Final, NamedTuple

from slicebase.context.handover_files import AgentTurns, HandoverFile, handover_files
from slicebase.context.lost.follow import items
from slicebase.context.lost.items import TranscriptItem, placed_parts
from slicebase.context.lost.phrases import is_narration
from slicebase.context.lost.program import base_name
from slicebase.context.lost.reader import REASON
from slicebase.context.lost.requests import Exchange, exchanges
from slicebase.context.lost.speech import said_by_user
from slicebase.context.lost.tools import FINISHERS, as_calls, tool_name
from slicebase.context.lost.words import sentences
from slicebase.context.outcomes import OpenFailures, outcome
from slicebase.core.hashing import canonical, digest_of
from slicebase.graph.turn import Part, Turn, part_text
from slicebase.runs.evidence import Chunk, Evidence, cite
from slicebase.runs.records import Span

HANDOVER_RULES: Final = "handover/1"

_STANDS: Final = frozenset({"standing", "open"})
_STATEMENT: Final = 500  # characters
_QUESTION: Final = 300
_STEP: Final = 200
_BEGINNING: Final = 60  # characters of a statement by which it is found again
_CITED: Final = 500  # characters of a call that is cited as a whole
_MOVED_ON: Final = 2  # prompts that were answered after one that was interrupted
_ID_DIGITS: Final = 12


class HandoverClaim(NamedTuple):
    """Something that a conversation says or did: its kind, its words, and the evidence for them."""

    claim_id: str
    kind: str
    statement: str
    evidence: Evidence
    turns: tuple[str, ...]  # that the words of the statement are from


class HandoverQuestion(NamedTuple):
    """A task or a prompt that is open, with the turns that its words are from."""

    text: str
    turns: tuple[str, ...]


class Handover(NamedTuple):
    """What an agent needs to continue a conversation."""

    claims: list[HandoverClaim]
    questions: list[HandoverQuestion]


def handover(turns: Sequence[Turn], agents: AgentTurns | None = None) -> Handover:
    """Returns what an agent needs to continue after these turns, which are given in order.

    `agents` has the turns of subagents by the turn that started them: what they wrote is there, too.
    """
    texts = _TurnTexts(turns)
    turns = as_calls(turns)
    found = items(turns)
    asked = exchanges(turns)
    waiting = asked[-1] if asked and not _is_answered(asked[-1], turns) else None
    claims: dict[str, HandoverClaim] = {}
    newest_first = sorted(found, key=lambda item: (-item.order, item.start))
    calls = _Calls(turns)
    files = list(handover_files(turns, agents or {}))
    removed = frozenset(base_name(file.path) for file in files if file.how == "removed")
    said = [
        item
        for item in newest_first
        if item.state in _STANDS
        and _is_claim(item)
        and not (item.state == "open" and item.turn in calls.mended)
        and not (item.kind == "command" and (item.result in calls.broken or _names(item, removed)))
    ]
    answered = _prompt(asked[-1], turns) if asked and waiting is None else ()
    moved_on = [each.order for each in asked if each.is_answered][-_MOVED_ON:]
    recent = {turn.id for turn in turns[moved_on[0] if len(moved_on) == _MOVED_ON else 0 :]}
    for kind, words, name, place in (*answered, *_said(said), *calls.refused(recent), *_files(files)):
        claim_id = f"{kind}-{digest_of([kind, name]).removeprefix('sha256:')[:_ID_DIGITS]}"
        evidence = texts.cite(place)
        if evidence is not None and claim_id not in claims:
            claims[claim_id] = HandoverClaim(
                claim_id, kind, _cut(words, _STATEMENT), evidence, (place.turn, *place.also)
            )
    still = [item for item in found if item.turn not in calls.reasons]  # these are said with the refusals
    return Handover(list(claims.values()), list(_questions(still, asked, waiting, turns)))


class _Words(NamedTuple):
    """Words in a turn, and their span in its readable text."""

    turn: str
    words: str
    start: int
    end: int
    also: tuple[str, ...] = ()  # other turns whose words the statement has


_Found = tuple[str, str, str, _Words]  # kind, statement, what it is known by, where it stands


def _is_claim(item: TranscriptItem) -> bool:
    if item.kind == "instruction":
        return item.mark == "rule"
    if item.kind == "command":
        return item.state == "standing" and item.result is not None
    if item.kind == "artefact":
        return item.mark != "file"  # files are claims with their state
    if item.mark != "by the user" and _PROPOSES.search(item.text):
        return False
    leads_in = item.origin == "report" and item.text.rstrip("*_` ").endswith(":")
    return item.kind == "decision" or (item.kind == "finding" and item.form != "heading" and not leads_in)


# While it works, an agent says so of its next step.
_PROPOSES: Final = re.compile(
    r"\A\W*let's\b|\blet's (?:use|do)\b[^.]* to (?:see|check|find|look|verify|search|test)\b", re.IGNORECASE
)


def _prompt(last: Exchange, turns: Sequence[Turn]) -> Iterator[_Found]:
    """Yields the last prompt, which was answered."""
    turn = turns[last.order]
    words = " ".join(last.prompt.split())
    yield "prompt", words, turn.id, _words_in(turn, last.prompt[:_STATEMENT])


def _words_in(turn: Turn, words: str) -> _Words:
    """Returns where words are in a turn; where they are not found as they are, the part that has them begins."""
    first = words.split()[:1]
    for _, text, place in placed_parts(turn):
        found = text.find(words)
        if found < 0 and first:
            found = text.find(first[0])
        if found >= 0:
            return _Words(turn.id, words, place + found, place + found + len(words))
    return _Words(turn.id, words, 0, len(words))


def _said(found: Iterable[TranscriptItem]) -> Iterator[_Found]:
    for item in found:
        name = " ".join(item.quotes) if item.quotes else " ".join(item.text.lower().split())
        yield item.kind, item.text, name, _Words(item.turn, item.text, item.start, item.end)


class _Refusal(NamedTuple):
    """A call that the user refused, with the user's words, if there are any, and where these are, or the call is."""

    call: str
    at: _Words
    said: str = ""

    @property
    def statement(self) -> str:
        """The refusal as a sentence. The words come first: they stay if it is cut."""
        stop = "" if self.said.endswith((".", "!", "?", "…")) else "."
        return (
            f"The user said: {self.said}{stop} Refused: {self.call}" if self.said else f"The user refused {self.call}"
        )

    def explained(self, words: str, turn: Turn) -> "_Refusal":
        """Returns the refusal with words of the user in a turn."""
        at = _words_in(turn, words[:_STEP])._replace(also=(self.at.also or (self.at.turn,)))
        return self._replace(at=at, said=_cut(" ".join(words.split()), _STEP))

    @property
    def only_asks(self) -> bool:
        """Whether the user asked back, and nothing else."""
        return self.said.endswith("?") and len(list(sentences(self.said))) == 1


class _Calls:
    """How the calls of a conversation ended: which the user refused, and what was said of failures that are over."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.mended: set[str] = set()  # turns right after a failure that was made good
        self.reasons: set[str] = set()  # turns in which the user refused a call with a reason
        self._refused: dict[str, _Refusal] = {}
        self._failed_at: dict[str, set[str]] = {}  # the turns in which a failure that is open was reported
        self._unexplained: str | None = None  # one of these, for which the user gave no reason yet
        self._open = OpenFailures()
        self._after: dict[str, list[str]] = {}
        calls: dict[str | None, tuple[Part, Turn]] = {}
        failed: list[str] = []
        for turn in turns:
            if turn.role == "user":
                self._explained(turn)
            if turn.role == "assistant":
                self._unexplained = None
                for name in failed:
                    self._after.setdefault(name, []).append(turn.id)
                failed = []
            for part in turn.parts:
                if part.type == "tool_call":
                    calls[part.call_id] = part, turn
                elif part.type == "tool_result" and part.call_id in calls:
                    failed += self._ended(*calls[part.call_id], part, turn)

    @property
    def broken(self) -> set[str]:
        """The turns in which failures that are open were reported."""
        return {turn for turns in self._failed_at.values() for turn in turns}

    def refused(self, recent: Set[str]) -> Iterator[_Found]:
        """Yields the calls that the user refused and that were not made since, the newest first.

        The words of the user are those of the refusal, or what the user said next. A question about a call is over
        when the work has moved on, which it has not in recent turns.
        """
        for key, refusal in reversed(self._refused.items()):
            if refusal.at.turn in recent or not refusal.only_asks:
                yield "instruction", refusal.statement, key, refusal.at

    def _explained(self, turn: Turn) -> None:
        """Adds what the user says after a refusal."""
        said = (said_by_user(part.text or "").strip() for part in turn.parts if part.type == "text" and not part.hidden)
        words = next(filter(None, said), "")
        if words and self._unexplained in self._refused:
            self._refused[self._unexplained] = self._refused[self._unexplained].explained(words, turn)
            self._unexplained = None

    def _ended(self, call: Part, caller: Turn, result: Part, turn: Turn) -> list[str]:
        """Notes how a call ended. Returns its failure."""
        found = outcome(call, result)
        key, name = str(sorted(found.needs) or found.call), found.fingerprint
        before = self._refused.pop(key, None)
        if found.ended == "refused":
            now = _Refusal(found.where, _Words(caller.id, found.where.partition(": ")[2], 0, 0))
            reason = REASON.search(part_text(result))
            if reason:
                self.reasons.add(turn.id)
                now = now.explained(reason[1].strip(), turn)
            else:
                self._unexplained = self._unexplained or key  # with one call, all beside it are refused
            self._refused[key] = before if before and before.said and not reason else now
        good = self._open.made_good(found) if found.ended == "ok" else []
        if found.ended == "failed":
            good = self._open.add(name, found)
            self._failed_at.setdefault(name, set()).add(turn.id)
        for each in good:
            self._failed_at.pop(each, None)
        self.mended.update(turn for each in good for turn in self._after.pop(each, ()))
        return [name] if found.ended == "failed" else []


def _files(files: Iterable[HandoverFile]) -> Iterator[_Found]:
    for file in files:
        yield "file", file.statement, file.path, _Words(file.turn, file.path, file.place, file.place, file.also)


def _names(command: TranscriptItem, files: frozenset[str]) -> bool:
    """Returns whether a command names one of these files."""
    return bool(files) and not files.isdisjoint(base_name(word) for word in command.text.split())


# Open questions


def _is_answered(last: Exchange, turns: Sequence[Turn]) -> bool:
    """Returns whether the last exchange ended with an answer, or with a call that ends the work."""
    if last.is_interrupted:
        return False
    if last.is_answered:
        told = [each.text for each in sentences(last.answer)]
        return bool(told) and not is_narration(told[-1])
    calls = (part for turn in reversed(turns) for part in reversed(turn.parts) if part.type == "tool_call")
    return any(tool_name(part) in FINISHERS for part in [*calls][:1])


def _questions(
    found: Iterable[TranscriptItem], asked: Sequence[Exchange], waiting: Exchange | None, turns: Sequence[Turn]
) -> Iterator[HandoverQuestion]:
    if waiting is not None:
        turn = turns[waiting.order]
        mark = "interrupted, " if waiting.is_interrupted else ""
        words = _cut(" ".join(waiting.prompt.split()), _QUESTION)
        step = _last_step(waiting)
        spoken = (
            each.id for each in reversed(turns) if step and any(part.text == waiting.answer for part in each.parts)
        )
        yield HandoverQuestion(f"prompt: {words}{step} ({mark}turn:{turn.id})", (turn.id, *islice(spoken, 1)))
    seen: set[str] = set()
    for item in found:
        is_task = item.kind == "task" and item.state == "open" and _is_current(item, asked)
        stopped = item.kind == "instruction" and item.state == "interrupted" and item.mark != "told"
        stopped = stopped and sum(each.is_answered for each in asked if each.order > item.order) < _MOVED_ON
        if (is_task or stopped) and not (waiting and item.order == waiting.order):
            words = _cut(" ".join(item.text.split()), _QUESTION)
            if words.lower() not in seen:
                seen.add(words.lower())
                what = "asked" if item.mark == "offered" else "task"  # who was asked is the user
                yield HandoverQuestion(f"{what}: {words} (turn:{item.turn})", (item.turn,))


def _is_current(task: TranscriptItem, asked: Sequence[Exchange]) -> bool:
    """Returns whether a task is still one. What the agent only mentions is, in one of its last answers."""
    if task.mark not in ("said", "offered"):
        return True
    last = asked[-1 if task.mark == "offered" else -2 :]
    return any(task.order >= each.order and task.text[:_BEGINNING] in " ".join(each.answer.split()) for each in last)


def _last_step(waiting: Exchange) -> str:
    """Returns what the agent said last about a prompt that it has not answered: where it is, or what it does next."""
    said = list(sentences(waiting.answer))
    words = " ".join(waiting.answer[said[-1].start :].split()) if said else ""
    return f" · last said: {_cut(words, _STEP)}" if words else ""


# Evidence


class _TurnTexts:
    """The texts of turns, in which words are cited (ruling 36)."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self._turns = {turn.id: turn for turn in turns}
        self._chunks: dict[str, tuple[Chunk, list[tuple[Part, str, int, int]]]] = {}

    def cite(self, at: _Words) -> Evidence | None:
        """Returns the evidence for words of a turn. In a call they stand as JSON; else the call is cited."""
        if at.turn not in self._chunks:
            self._chunks[at.turn] = self._read(self._turns[at.turn])
        chunk, parts = self._chunks[at.turn]
        for part, text, place, readable in reversed(parts):
            if readable > at.start:
                continue
            if part.type == "tool_call":
                quoted = canonical(at.words).decode()[1:-1]
                start = text.find(quoted)
                span = (start, start + len(quoted)) if start >= 0 and quoted else (0, min(len(text), _CITED))
            else:
                span = (at.start - readable, at.end - readable)
            start, end = (place + min(max(0, offset), len(text)) for offset in span)
            return cite(chunk, span=Span(start=start, end=end)) if start < end else None
        return None

    @staticmethod
    def _read(turn: Turn) -> tuple[Chunk, list[tuple[Part, str, int, int]]]:
        """Returns a turn as a chunk; and its parts with their texts, and where they begin in it and for readers."""
        parts, place = [], 0
        for part, _, readable in placed_parts(turn):
            if text := part_text(part):
                parts.append((part, text, place, readable))
                place += len(text) + 2
        whole = "\n\n".join(text for _, text, _, _ in parts)
        return Chunk(f"session:{turn.session}", f"turn:{turn.id}", whole), parts


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
