"""What a handover holds of what the next turns use, and whether it names what came next (docs/runs.md).

Real transcripts are cut at their compactions and, with a fixed seed, before a few prompts; trajectories, which have one
prompt, before a few steps. The workspace has only the turns before the cut. What the next 40 turns use, up to the next
compaction, is compared with what a text names (`bench/_used.py`): precision is the share of used things among those
that it names, recall the share of those used that it names. What the prompts among these turns say, the agent gets
from the user: it counts on neither side. A cut after which fewer than two known things are used is left out.

The texts: the narrative of the run; `tt context --run`, asked with the next prompt, or with the last one if the agent
goes on without; the client's own summary, its beginning and its end; the last messages, whole and by their beginnings.
What follows a compaction was written by an agent that had the summary: this favours the summary.

A text names at most three next actions: the narrative in its section, a summary under its heading *next step*, the last
messages by the last prompt and the last words of the agent, where the text has them. Their first 400 characters count.
An action is right if it names a file, test or identifier that the next 10 turns use, quotes a command that they run, or
has at least three content words, and half of those of the shorter one, in common with the next prompt; if the agent
goes on without one, with the prompt that it works on, or with what it says first.

Settings are chosen by the development half. Sessions belong to a half by a hash of their name.
"""

import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from bench._used import KINDS, Known, Thing
from slicebase import Slicebase
from slicebase.context.lost.speech import said_by_user
from slicebase.context.lost.tools import as_calls
from slicebase.context.lost.words import Passages, content_stems
from slicebase.context.rediscovery import lookups
from slicebase.core.hashing import tokens
from slicebase.graph.turn import Turn, turn_text
from slicebase.history.annotate import Annotator
from slicebase.history.imports import import_inputs
from slicebase.history.inputs import inputs
from slicebase.history.paths import Paths, is_summary
from slicebase.importers.swe_agent import NAME as SWE_AGENT
from slicebase.importers.values import Options
from slicebase.verbs.imports import index_new_turns

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TRANSCRIPTS = ("claude-code/lost/*-*.jsonl", "claude-code/compacted/*.jsonl", "runs/swe-agent/*.traj")
SIZES = (2_000, 4_000)
SEED = "handover/1"
AT_PROMPTS, AT_STEPS = 6, 2  # cuts of each session, and of each trajectory
BEFORE, AFTER = 12, 10  # turns that a cut at least has on both sides
WINDOW = 40  # turns
APART, APART_STEPS = 20, 6  # turns between two of them
NEXT = 10  # turns
LEAST_USED = 2
BEGINNING = 300  # characters of a message
LONGEST = 400  # characters of an action


class Cut(NamedTuple):
    """A place in a session: the turns before it, those after it, the next prompt, and the client's summary."""

    session: str
    at: str
    before: list[Turn]
    after: list[Turn]
    prompt: str
    summary: str

    @property
    def name(self) -> str:
        return f"{self.session[:8]} {self.at} {len(self.before)}"


class Action(NamedTuple):
    text: str
    right: bool


class Answer(NamedTuple):
    """What a text of a method names at a cut, what is used after it, and the next actions that the text names."""

    method: str
    cut: Cut
    named: frozenset[Thing]
    used: frozenset[Thing]
    actions: tuple[Action, ...]


def run() -> None:
    """Prints what each method holds, for both halves."""
    found = list(answers())
    if not found:
        print("handover: skipped, ../shared/data/claude-code/lost is absent")
        return
    for half in ("development", "judged"):
        own = [each for each in found if half_of(each.cut.session) == half]
        if own:
            _print(half, own)
    print(f"handover, digest of the answers: {_digest(found)}")


def _transcripts() -> list[Path]:
    return [path for pattern in TRANSCRIPTS for path in sorted(DATA.glob(pattern))]


def half_of(session: str) -> str:
    """Returns the half that a session belongs to: in the order of the hashes of their names, every second is judged."""
    order = sorted((path.stem for path in _transcripts()), key=lambda name: sha256(name.encode()).digest())
    return ("development", "judged")[order.index(session) % 2]


def answers(session: str = "") -> Iterator[Answer]:
    """Yields the answers of all methods at the cuts of the sessions whose name begins so."""
    for path in _transcripts():
        if path.stem.startswith(session):
            yield from _of_session(path)


def _of_session(path: Path) -> Iterator[Answer]:
    with TemporaryDirectory() as whole, TemporaryDirectory() as folder:
        source = Slicebase.open(whole, whole)
        with source.truth.database.bulk():
            import_inputs(source.truth, inputs([path]), Options())
        session = next(each for each, _ in source.truth.turns.sessions() if each.id == path.stem)
        stored = Paths(source.truth).turns(session.id)
        places = {turn.id: place for place, turn in enumerate(stored)}
        memory = Slicebase.open(folder, folder)
        done = 0
        for number, cut in enumerate(cuts(source, session.id, session.format)):
            until = max(done, places[cut.before[-1].id] + 1)
            memory.truth.turns.add(session, stored[done:until], Annotator(memory.truth))
            index_new_turns(memory)
            done = until
            yield from _of_cut(memory, cut, f"cut-{number}")


# Cuts


def cuts(source: Slicebase, session: str, format_name: str) -> list[Cut]:
    """Returns the cuts of a stored session in their order."""
    turns = Paths(source.truth).to_leaf(session)
    compactions = [place for place in range(1, len(turns)) if _begins_summary(turns, place)]
    is_trajectory = format_name == SWE_AGENT
    possible = [place for place in _possible(turns) if _begins_step(turns[place], is_trajectory)]
    shuffled = random.Random(f"{SEED} {session}").sample(possible, len(possible))
    others = _apart(shuffled, compactions, APART_STEPS if is_trajectory else APART)
    chosen = [
        (place, "step" if is_trajectory else "prompt") for place in others[: AT_STEPS if is_trajectory else AT_PROMPTS]
    ]
    return [
        _cut(session, turns, place, at)
        for place, at in sorted([*chosen, *((each, "compaction") for each in compactions)])
    ]


def _begins_step(turn: Turn, is_trajectory: bool) -> bool:
    return turn.role == "assistant" if is_trajectory else bool(_prompt(turn))


def _apart(places: Iterable[int], others: Sequence[int], least: int) -> list[int]:
    """Returns the places without those that are near an earlier one, or near one of the others."""
    chosen: list[int] = []
    for place in places:
        if all(abs(place - other) >= least for other in (*others, *chosen)):
            chosen.append(place)
    return chosen


def _begins_summary(turns: Sequence[Turn], place: int) -> bool:
    return is_summary(turns[place]) and not is_summary(turns[place - 1])


def _possible(turns: Sequence[Turn]) -> Iterator[int]:
    for place in range(BEFORE, len(turns) - AFTER):
        if not any(map(is_summary, turns[place : place + AFTER])):
            yield place


def _cut(session: str, turns: list[Turn], place: int, at: str) -> Cut:
    summaries = list(takewhile(is_summary, turns[place:]))
    rest = turns[place + len(summaries) :]
    after = list(takewhile(lambda turn: not is_summary(turn), rest))[:WINDOW]
    first = takewhile(lambda turn: turn.role != "assistant", after)
    prompt = next(filter(None, map(_prompt, first)), "")
    said = "\n\n".join(turn_text(turn.parts) for turn in summaries)
    return Cut(session, at, turns[:place], after, prompt, said)


def _prompt(turn: Turn) -> str:
    """Returns what the user says in a turn."""
    texts = (part.text or "" for part in turn.parts if part.type == "text" and not part.summary)
    return said_by_user("\n\n".join(texts)).strip() if turn.role == "user" else ""


# Methods


def narrative(memory: Slicebase, run_id: str, size: int) -> str:
    """Returns the narrative of a run in a number of tokens."""
    return memory.runs.narrative(run_id, write=False, tokens=size).body


def _texts(memory: Slicebase, cut: Cut, run_id: str, size: int) -> Iterator[tuple[str, str]]:
    yield "narrative", narrative(memory, run_id, size)
    question = " ".join((cut.prompt or _last_prompt(cut.before) or "continue").split())[:BEGINNING]
    yield "context --run", memory.context(question, size, run=run_id, record=False).text
    if cut.summary:
        yield "client's summary, beginning", _beginning(cut.summary, size)
        yield "client's summary, end", _end(cut.summary, size)
    yield "last messages", _end("\n\n".join(turn_text(turn.parts) for turn in cut.before), size)
    yield "last messages, beginnings", _beginnings(cut.before, size)


def _beginning(text: str, size: int) -> str:
    return text.encode()[: 3 * size].decode(errors="ignore")


def _end(text: str, size: int) -> str:
    return text.encode()[-3 * size :].decode(errors="ignore")


def _beginnings(turns: Sequence[Turn], size: int) -> str:
    chosen: list[str] = []
    for turn in reversed(turns):
        text = turn_text(turn.parts)[:BEGINNING]
        size -= tokens(text + "\n\n")
        if size < 0:
            break
        chosen.append(text)
    return "\n\n".join(reversed(chosen))


def _of_cut(memory: Slicebase, cut: Cut, run_id: str) -> Iterator[Answer]:
    known = Known(cut.before)
    given = known.named("\n".join([cut.prompt, *map(_prompt, cut.after)]))
    used = known.used(cut.after) - given
    if len(used) < LEAST_USED:
        return
    memory.runs.from_session(cut.session, run_id, leaf=cut.before[-1].id)
    memory.runs.compact(run_id)
    came = CameNext(known, cut)
    for size in SIZES:
        for method, text in _texts(memory, cut, run_id, size):
            actions = tuple(Action(each, came.is_named_by(each)) for each in _actions(method, text, cut))
            yield Answer(f"{method}, {size:,}", cut, known.named(text) - given, used, actions)


# Next actions

_SECTION: Final = re.compile(r"^#+ Next actions$(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
_NUMBERED: Final = re.compile(r"^\d\. (.+)$", re.MULTILINE)
_NEXT_STEP: Final = re.compile(r"^[\W\d]*(?:optional )?next steps?\b(.*)\Z", re.MULTILINE | re.DOTALL | re.IGNORECASE)
_CLIENT: Final = re.compile(r"\s*(?:If you need specific details|Please continue the conversation)")
_NO_ACTION: Final = "Continue towards the done definition"


def _actions(method: str, text: str, cut: Cut) -> list[str]:
    """Returns the beginnings of the next actions that a text names, at most three."""
    if method.startswith("last"):
        last = [_last_prompt(cut.before)[:LONGEST], next(_said(reversed(cut.before)), "")[-LONGEST:]]
        return [each for each in last if each and each[:100] in text]
    if method.startswith("client"):
        found = _NEXT_STEP.search(text)
        entries = found[1].split("\n\n") if found else []
        named = [each for each in entries if len(content_stems(each)) > 2 and not _CLIENT.match(each)]
    else:
        section = _SECTION.search(text)
        named = _NUMBERED.findall(section[1]) if section else []
    return [each[:LONGEST] for each in named[:3] if not each.startswith(_NO_ACTION)]


def _last_prompt(turns: Sequence[Turn]) -> str:
    return next(filter(None, map(_prompt, reversed(turns))), "")


def _said(turns: Iterable[Turn]) -> Iterator[str]:
    """Yields what the agent says."""
    for turn in turns:
        texts = [part.text.strip() for part in turn.parts if part.type == "text" and part.text]
        if turn.role == "assistant" and any(texts):
            yield "\n\n".join(texts)


class CameNext:
    """What came after a cut: the things that the next turns use, their commands, and the words for it."""

    def __init__(self, known: Known, cut: Cut) -> None:
        following = cut.after[:NEXT]
        self._known = known
        self._used = {thing for thing in known.used(following) if thing.kind != "command"}
        self._ran = [each.what for each in lookups(as_calls(following)) if each.kind == "command"]
        words = [cut.prompt] if cut.prompt else [_last_prompt(cut.before), next(_said(following), "")]
        self._words = [content_stems(each) for each in words]

    def is_named_by(self, action: str) -> bool:
        if self._known.named(action) & self._used:
            return True
        text = Passages(action)
        if any(" " in command and text.quote([command]) for command in self._ran):
            return True
        stems = content_stems(action)
        return any(len(stems & words) >= max(3, min(len(stems), len(words)) / 2) for words in self._words)


# The table


HEADS = [
    "cuts",
    "precision",
    "recall",
    "F1",
    "F1 by cut",
    "first action",
    "any action",
    *(f"F1 {kind}" for kind in KINDS),
]


class Score(NamedTuple):
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def score(found: Iterable[Answer], kinds: Iterable[str] = KINDS) -> Score:
    right = named = used = 0
    for each in found:
        own = {thing for thing in each.named if thing.kind in kinds}
        needed = {thing for thing in each.used if thing.kind in kinds}
        right, named, used = right + len(own & needed), named + len(own), used + len(needed)
    return Score(right / max(1, named), right / max(1, used))


def _print(half: str, found: Sequence[Answer]) -> None:
    own = {each.cut.name: each.cut.at for each in found}
    used: Counter[str] = Counter(
        thing.kind for _, things in {(each.cut.name, each.used) for each in found} for thing in things
    )
    print(f"handover, {half} half: {len(own)} cuts ({_counted(Counter(own.values()))}); used: {_counted(used)}")
    for part, kinds in (("all cuts", ("compaction", "prompt", "step")), ("compactions", ("compaction",))):
        print(f"  {part:36}" + "".join(f"{head:>14}" for head in HEADS))
        chosen = [each for each in found if each.cut.at in kinds]
        for method in dict.fromkeys(each.method for each in chosen):
            rows = [each for each in chosen if each.method == method]
            if len(rows) < len({each.cut.name for each in chosen}):  # only a compaction has a summary
                continue
            print(f"  {method:36}" + "".join(f"{cell:>14}" for cell in _cells(rows)))


def _cells(rows: Sequence[Answer]) -> Iterator[str]:
    all_kinds = score(rows)
    yield str(len(rows))
    yield from (
        f"{value:.2f}" for value in (*all_kinds, all_kinds.f1, sum(score([row]).f1 for row in rows) / len(rows))
    )
    yield f"{sum(any(action.right for action in row.actions[:1]) for row in rows)}"
    yield f"{sum(any(action.right for action in row.actions) for row in rows)}"
    yield from (f"{score(rows, [kind]).f1:.2f}" for kind in KINDS)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))


def _digest(found: Iterable[Answer]) -> str:
    lines = [
        f"{each.cut.name} {each.method} {sorted(each.named)} {sorted(each.used)} {[right for _, right in each.actions]}"
        for each in found
    ]
    return sha256("\n".join(lines).encode()).hexdigest()[:16]


def show(session: str) -> None:
    """Prints the cuts of a session: what is used, and what each method names of it."""
    last = ""
    for each in answers(session):
        if each.cut.name != last:
            last = each.cut.name
            print(f"== {last} ({half_of(each.cut.session)}), next prompt: {each.cut.prompt[:300]!r}")
            print("   used:", *sorted(each.used), sep="\n     ")
        right = each.named & each.used
        print(f"   {each.method}: {len(right)} of {len(each.used)}, names {len(each.named)}")
        print("     ", ", ".join(thing.name for thing in sorted(right)))
        for action in each.actions:
            print(f"      next action, {'right' if action.right else 'wrong'}: {action.text[:300]!r}")


if __name__ == "__main__":
    show(sys.argv[1] if len(sys.argv) > 1 else "")
