"""What is due for a file: work that its contract asks for and that needs a person or a model (§ Cleanup, § Overflow).

`slice.done` says when somebody did it last. A period counts from there. An age counts again for entries that pass it
later, and a count or a size when something is added later: what was there was seen.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, Literal, NamedTuple

from slicebase.core.times import EARLIEST, LATEST, to_text
from slicebase.files.body.lines import read_lines, read_time
from slicebase.files.body.overflow import own_size
from slicebase.files.body.sections import sections
from slicebase.files.body.supersession import active, distinct
from slicebase.files.cleanup import CleanupKind, CleanupRule, cleanup_rules
from slicebase.files.facts import own_rows
from slicebase.files.freshness import born_at
from slicebase.files.slice_file import SliceFile

DueKind = CleanupKind | Literal["summarize", "source-changed", "unclear"]

SUMMARIZE: Final = "summarize"  # the mark that overflow leaves (ruling 32)


class DueReason(NamedTuple):
    """Something that is due, in our words, and the sentence of the contract that asks for it, if one does."""

    kind: DueKind
    detail: str
    rule: str | None = None


class _State:
    """What the rules of a file are compared with. Its entries are read when a rule asks for them."""

    def __init__(self, log: Sequence[SliceFile], now: int, changed: int) -> None:
        self.log = log
        self.file = log[0]
        self.now = now
        self.changed = changed  # the last change of the file
        self.done = read_time(self.file.done.at) if self.file.done else None
        self.size = max(map(own_size, log))

    @cached_property
    def entries(self) -> "_Entries":
        find = _FINDERS.get(self.file.body_type or "")
        return find(self.log) if find else _Entries(())

    @property
    def grew(self) -> bool:
        """Whether something was written since the work was done."""
        if self.done is None or self.changed > self.done:
            return True
        return any(time is not None and time > self.done for time in self.entries.holding)


def asks_for_work(file: SliceFile) -> bool:
    """Returns whether something can be due for a file: of another one, `due_reasons` has nothing to say."""
    return bool(file.due or file.contract.cleanup or file.contract.overflow)


def due_reasons(
    log: Sequence[SliceFile], now: int, changed: int, limit: int, *, everything: bool = False
) -> Iterator[DueReason]:
    """Yields what is due for a file: the first of `log`; the others are the parts that continue it.

    `changed` is its last change and `limit` the size above which overflow acts. With `everything`, also a cleanup text
    that no rule can be read from.
    """
    state = _State(log, now, changed)
    file, size = state.file, state.size
    if file.due:
        asked = "summarized: it is larger than its contract allows" if file.due == SUMMARIZE else f"done: {file.due}"
        yield DueReason("summarize", f"the file is to be {asked}")
    elif file.contract.overflow and size > limit and state.grew:
        yield DueReason("size", f"the file has {size} bytes, more than {limit}")
    cleanup = file.contract.cleanup or ""
    rules = cleanup_rules(cleanup)
    for rule in rules:
        detail = _RULES[rule.kind](state, rule)
        if detail:
            yield DueReason(rule.kind, detail, rule.sentence)
    if everything and cleanup.strip() and not rules:
        yield DueReason("unclear", "its cleanup rule has neither an age nor a period, a count or a size", cleanup)


# The rules: each returns what is due, None if nothing is


def _age(state: _State, rule: CleanupRule) -> str | None:
    """An entry counts when it passes the age after the work was done last. A body without times is one entry."""
    stated = state.entries.former if rule.about_former else state.entries.holding
    times = [time for time in stated if time is not None]
    if not times and not rule.about_former:
        times = [state.changed]
    old = [time for time in times if time + rule.amount <= state.now]
    new = [time for time in old if state.done is None or time + rule.amount > state.done]
    if not new:
        return None
    what = ("superseded entry", "superseded entries") if rule.about_former else ("entry", "entries")
    return f"{_count(len(new), *what)} old enough, the oldest of {_day(min(new))}"


def _period(state: _State, rule: CleanupRule) -> str | None:
    born = born_at(state.file.id or "", read_time(state.file.created_at))
    since = next(time for time in (state.done, born, state.changed) if time is not None)
    if since + rule.amount > state.now:
        return None
    return f"it was done last on {_day(since)}" if state.done else f"it was never done since {_day(since)}"


def _more_entries(state: _State, rule: CleanupRule) -> str | None:
    count = len(state.entries.former if rule.about_former else state.entries.holding)
    return f"it has {_count(count, 'entry', 'entries')}" if count > rule.amount and state.grew else None


def _larger(state: _State, rule: CleanupRule) -> str | None:
    return f"the file has {state.size} bytes" if state.size > rule.amount and state.grew else None


_RULES: Final[Mapping[CleanupKind, Callable[[_State, CleanupRule], str | None]]] = {
    "age": _age,
    "period": _period,
    "count": _more_entries,
    "size": _larger,
}


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _day(milliseconds: int) -> str:
    return to_text(min(max(milliseconds, EARLIEST), LATEST))[:10]


# Entries, by the type of the body


class _Entries(NamedTuple):
    holding: Sequence[int | None]  # times of the entries that hold; None where an entry has none
    former: Sequence[int | None] = ()  # since when the others no longer hold


def _rows(log: Sequence[SliceFile]) -> _Entries:
    rows = distinct(row for file in log for row in own_rows(file))
    holding = {(row.id, row.line.raw) for row in active(rows)}
    ended = {old: row.time for row in rows for old in row.supersedes}
    former = [ended.get(row.id, row.time) for row in rows if (row.id, row.line.raw) not in holding]
    return _Entries([row.time for row in rows if (row.id, row.line.raw) in holding], former)


def _lines(log: Sequence[SliceFile]) -> _Entries:
    return _Entries([read_time(line.value.get("ts")) for file in log for line in read_lines(file.body).lines])


def _headings(log: Sequence[SliceFile]) -> _Entries:
    """Counts the sections of the highest level that has several: a title over all of them is not an entry."""
    texts = (file.body.decode(errors="replace") for file in log)
    levels = Counter(section.level for text in texts for section in sections(text) if section.level)
    several = [level for level, count in levels.items() if count > 1]
    return _Entries([None] * (levels[min(several)] if several else levels.total()))


def _paragraphs(log: Sequence[SliceFile]) -> _Entries:
    texts = (file.body.decode(errors="replace").replace("\r\n", "\n") for file in log)
    return _Entries([None for text in texts for part in text.split("\n\n") if part.strip()])


_FINDERS: Final[Mapping[str, Callable[[Sequence[SliceFile]], _Entries]]] = {
    "jsonl": _rows,
    "conversation": _lines,
    "routine": _lines,
    "markdown": _headings,
    "text": _paragraphs,
}
