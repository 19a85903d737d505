"""Reads the items of a transcript from its turns: who says something, which calls were made, and how they ended."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from slicebase.context.lost.artefacts import artefacts_in
from slicebase.context.lost.commands import looks_elsewhere, needed_again
from slicebase.context.lost.items import OTHER_LANGUAGE, FoundItems, ItemState, TranscriptItem, placed_parts
from slicebase.context.lost.languages import are_other_language, is_other_language, may_stay, says_enough
from slicebase.context.lost.phrases import LostKind, kind_of_prompt, kind_of_statement
from slicebase.context.lost.points import MOST, Point, points, without_narration
from slicebase.context.lost.requests import exchanges
from slicebase.context.lost.rules import can_be_rule, is_forbidden, rule_in
from slicebase.context.lost.shell import LOOKING, error_line, exit_code, how_tests_ended, simple_commands
from slicebase.context.lost.speech import (
    REFUSED,
    SpeechOrigin,
    blocks,
    is_client_result,
    joined,
    listed_rules,
    said_by_user,
    typed,
    without_reminders,
)
from slicebase.context.lost.tools import (
    ASKERS,
    CLIENT_TOOLS,
    PLANNERS,
    REPORTERS,
    TASK_LISTS,
    TASK_TOOLS,
    TODO_LISTS,
    WRITERS,
    argument,
    command_in,
    file_changes,
    tool_name,
)
from slicebase.context.lost.words import content_stems, sentences
from slicebase.context.outcomes import OpenFailures, outcome
from slicebase.graph.turn import Part, Turn

DONE: Final = frozenset({"completed", "done", "cancelled", "canceled", "deleted"})
TASK_NUMBER: Final = re.compile(r"Task #(\w+)")
REASON: Final = re.compile(r"the user (?:said|provided the following reason[^:]*):\s*(.+)", re.DOTALL | re.IGNORECASE)
_REPORT: Final[tuple[LostKind, str]] = ("finding", "stated")
_LEAST_WORDS: Final = {"finding": 3}  # content words of a statement
_SHELL_FENCE: Final = re.compile(r"[`~]{3,}[ \t]*(?:bash|sh|shell|zsh)[ \t]*\n")


def read_items(turns: Iterable[Turn]) -> list[TranscriptItem]:
    """Returns the items of turns in order, without following what became of statements; repeated ones once."""
    turns = list(turns)
    reader = _Reader(are_other_language(typed(each.prompt[:MOST]) for each in exchanges(turns)))
    for order, turn in enumerate(turns):
        reader.read(order, turn)
    return reader.close()


def open_tasks(turns: Iterable[Turn]) -> frozenset[str]:
    """Returns the texts of the tasks that the newest list of tasks has open."""
    reader = _Reader()
    for order, turn in enumerate(turns):
        reader.read_tasks(order, turn)
    return frozenset(item.text for item in reader.close())


class _Place(NamedTuple):
    """A text in a turn: its beginning in the readable text of the turn."""

    turn: str
    order: int
    start: int

    def later(self, characters: int) -> "_Place":
        """Returns the place so many characters further on."""
        return self._replace(start=self.start + characters)


class _PendingCall(NamedTuple):
    """A call, and the readable text of it."""

    at: _Place
    part: Part
    text: str

    def find(self, text: str) -> tuple[int, int] | None:
        """Returns the span of a text in the call; lines that are continued are one, as in `command_in`."""
        start = self.text.replace("\\\n", "  ").find(text)
        return (self.at.start + start, self.at.start + start + len(text)) if start >= 0 else None

    def span_of(self, text: str) -> tuple[int, int]:
        """Returns the span of a text in the call; of the complete call if it stands there in another form."""
        return self.find(text) or (self.at.start, self.at.start + len(self.text))


class _Result(NamedTuple):
    at: _Place
    part: Part
    text: str
    failed: bool


class _Reader:
    def __init__(self, among_others: bool = False) -> None:
        self._among_others = among_others  # most of what the user types is in another language than English
        self._found = FoundItems()
        self._calls: dict[str, _PendingCall] = {}
        self._open = OpenFailures()
        self._failed: dict[str, list[tuple[Any, ...]]] = {}  # the items of failures that are open
        self._tasks: dict[str, TranscriptItem] = {}

    def read(self, order: int, turn: Turn) -> None:
        for part, text, place in placed_parts(turn):
            self._part(turn, part, text, _Place(turn.id, order, place))

    def read_tasks(self, order: int, turn: Turn) -> None:
        """Reads only the calls of tools that keep lists of tasks, and their results."""
        for part in turn.parts:
            is_list = part.type == "tool_call" and tool_name(part) in TASK_LISTS
            if is_list or (part.type == "tool_result" and part.call_id in self._calls):
                self._part(turn, part, part.text or "", _Place(turn.id, order, 0))

    def close(self) -> list[TranscriptItem]:
        for call in self._calls.values():
            self._call(call, None)
        return sorted([*self._found, *self._tasks.values()], key=lambda item: (item.order, item.start))

    # Parts

    def _part(self, turn: Turn, part: Part, text: str, at: _Place) -> None:
        if part.type == "tool_call":
            call = _PendingCall(at, part, text)
            if part.call_id:
                self._calls[part.call_id] = call
            else:
                self._call(call, None)
        elif part.type == "tool_result":
            body = without_reminders(text)
            waiting = self._calls.pop(part.call_id or "", None)
            if waiting:
                self._call(waiting, _Result(at, part, body, part.error or bool(exit_code(body))))
        elif part.type == "text" and not part.hidden and not part.error:
            if turn.role == "assistant":
                self._said(without_reminders(text), at, "speech")
            elif turn.role == "user":
                self._prompt(said_by_user(text), at)

    # Speech

    def _prompt(self, text: str, at: _Place) -> None:
        rules, own = listed_rules(typed(text), self._may_be_rule)
        for rule in rules:
            point = Point(rule.text, rule.start, rule.end, rule.form, rule.above)
            self._instruction("instruction", "rule", text, rule.start, rule.end, point, at)
        for point in points(own):
            self._instructions(own, point, at)
        for point in points(text):  # what was copied in may name an artefact, too
            self._artefacts(text[point.start : point.end], at.later(point.start))

    def _may_be_rule(self, entry: str, above: str) -> bool:
        return can_be_rule(entry, above) and not self._is_other(entry)

    def _is_other(self, text: str) -> bool:
        return is_other_language(text, among_others=self._among_others)

    def _instructions(self, text: str, point: Point, at: _Place) -> None:
        """Adds a point of the user: each rule in it by itself, and what is between them."""
        rest: list[tuple[int, int]] = []
        for sentence in sentences(text[point.start : point.end]):
            start = point.start + sentence.start
            if not (rule := rule_in(sentence.text)):
                if self._is_other(sentence.text) and may_stay(sentence.text) and says_enough(sentence.text):
                    self._instruction("instruction", OTHER_LANGUAGE, text, start, start + len(sentence.text), point, at)
                else:
                    rest.append((start, start + len(sentence.text)))
                continue
            self._instruction("instruction", "rule", text, start + rule[0], start + rule[1], point, at)
            for first, last in ((0, rule[0]), (rule[1], len(sentence.text))):
                if last - first > 1:
                    rest.append((start + first, start + last))
        for start, end in joined(rest, text):
            words = text[start:end]
            if not self._is_other(words):
                self._instruction(*kind_of_prompt(words), text, start, end, point, at)
            elif says_enough(words):
                self._instruction("instruction", OTHER_LANGUAGE, text, start, end, point, at)

    def _instruction(
        self, kind: LostKind, mark: str, text: str, start: int, end: int, point: Point, at: _Place
    ) -> None:
        words = " ".join(text[start:end].split()).strip(" ,;")
        least = 1 if mark in ("rule", OTHER_LANGUAGE) else 2
        if len(content_stems(words)) >= least:
            told = point._replace(text=words, start=start, end=end)
            self._found.add(_statement(kind, mark, told, at, "speech"), words)

    def _said(self, text: str, at: _Place, origin: SpeechOrigin) -> None:
        for point in points(text):
            told = without_narration(point, text) if origin == "speech" else point
            if told:
                kind, mark = kind_of_statement(told.text, told.above) if origin == "speech" else _REPORT
                if len(content_stems(told.text)) >= _LEAST_WORDS.get(kind, 2):
                    self._found.add(_statement(kind, mark, told, at, origin), told.text)
            self._artefacts(text[point.start : point.end], at.later(point.start))
        if origin == "speech":
            self._written_commands(text, at)

    def _written_commands(self, text: str, at: _Place) -> None:
        """Adds the commands in fenced code that the assistant shows, if they were not run before."""
        for block in blocks(text):
            if block.form != "code" or not (fence := _SHELL_FENCE.match(block.text)):
                continue
            script = block.text[fence.end() :].rstrip("`~ \n")
            place = at.start + block.start + fence.end()
            for each in needed_again(script) if len(script) <= MOST else ():
                item = TranscriptItem(
                    "command", script[each.start : each.end], each.what, at.turn, place + each.start, place + each.end,
                    at.order, quotes=each.simple,
                )  # fmt: skip
                if not self._found.has(item, *map(_plain, each.simple)):
                    self._found.add(item, *map(_plain, each.simple))

    def _artefacts(self, text: str, at: _Place, source: str = "") -> None:
        for each in artefacts_in(text, source):
            item = TranscriptItem(
                "artefact", each.text, each.what, at.turn, at.start + each.start, at.start + each.end, at.order,
                origin="output" if source else "speech", quotes=each.names,
            )  # fmt: skip
            self._found.add(item, *each.names)

    # Calls

    def _call(self, call: _PendingCall, result: _Result | None) -> None:
        name = tool_name(call.part)
        if result and result.failed and REFUSED.search(result.text):
            self._refused(result)
        elif command := command_in(name, call.part.arguments):
            self._command(call, command, result)
        elif name in WRITERS:
            self._written(call, result)
        elif name in TODO_LISTS:
            self._list(call, *TODO_LISTS[name])
        elif name in TASK_TOOLS:
            self._task(call, result)
        elif name in ASKERS and result and not result.failed:
            self._answered(result)
        elif name in PLANNERS and result and not result.failed:
            self._planned(call)
        elif name in REPORTERS and result and not is_client_result(result.text):
            self._said(result.text, result.at, "report")
        elif result and name not in CLIENT_TOOLS:
            self._outcome(call, result, (name, call.text))

    def _command(self, call: _PendingCall, command: str, result: _Result | None) -> None:
        if changed := file_changes(call.part):
            self._created(call, [change.path for change in changed if change.how == "created"], result)
            return
        simple = simple_commands(command)
        needed = needed_again(command)
        output = result.text if result else ""
        tested = any(each.what == "test" for each in needed) and how_tests_ended(output) == "failed"
        failed = result is not None and (result.failed or tested)
        keys = []
        for each in needed if not (failed and _only_looks(simple)) else ():
            words = command[each.start : each.end]
            if (span := call.find(words)) is None:
                continue  # the complete call may contain what changes things
            state: ItemState = "unfinished" if result is None else "failed" if failed else "standing"
            item = TranscriptItem(
                "command", words, each.what, call.at.turn, *span, call.at.order, state,
                "output", result=result.at.turn if result else None, quotes=each.simple,
            )  # fmt: skip
            keys.append(self._found.add(item, *map(_plain, each.simple)))
        if result and not failed:
            self._artefacts(output[:4000], result.at, " && ".join(simple))
        if result and simple and not _only_looks(simple):
            self._outcome(call, result._replace(failed=failed), simple, keys)

    def _outcome(
        self, call: _PendingCall, result: _Result, identity: tuple[str, ...], keys: Iterable[tuple[Any, ...]] = ()
    ) -> None:
        """Adds an error, or resolves what the success of a call makes good. `keys` are those of its commands."""
        found = outcome(call.part, result.part)
        if result.failed:
            own = [*keys, *self._failure(call, result, identity)]
            name = found.fingerprint
            for key in (key for over in self._open.add(name, found) for key in self._failed.pop(over, ())):
                if key not in own:
                    self._found.make_good(key)
            self._failed.setdefault(name, []).extend(own)
        elif found.ended == "ok":
            for key in (key for over in self._open.made_good(found) for key in self._failed.pop(over, ())):
                self._found.make_good(key)

    def _failure(self, call: _PendingCall, result: _Result, identity: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
        """Adds the error that a result reports. Yields its key."""
        line, start = error_line(result.text)
        if len(content_stems(_EXIT.sub("", line))) < 2 or is_client_result(result.text):
            return
        first = result.at.start + start
        item = TranscriptItem(
            "error", " ".join(line.split())[:MOST], "failed", result.at.turn, first, first + len(line),
            result.at.order, "open", "output", result=call.at.turn,
        )  # fmt: skip
        yield self._found.add(item, *identity, line)

    def _written(self, call: _PendingCall, result: _Result | None) -> None:
        if not (result and result.failed):
            changed = file_changes(call.part, result.text if result else "")
            self._created(call, [change.path for change in changed if change.how == "created"], result)

    def _created(self, call: _PendingCall, paths: Iterable[str], result: _Result | None) -> None:
        for path in paths if not (result and result.failed) else ():
            item = TranscriptItem(
                "artefact", path, "file", call.at.turn, *call.span_of(path), call.at.order,
                origin="output", quotes=(path.rsplit("/", 1)[-1],),
            )  # fmt: skip
            self._found.add(item, path)

    # Lists of tasks, plans, answers, refusals

    def _list(self, call: _PendingCall, field: str, words: str) -> None:
        arguments = call.part.arguments
        entries = arguments.get(field) if isinstance(arguments, dict) else None
        self._tasks = {
            str(number): _task_item(call, str(entry[words]), str(entry.get("status")))
            for number, entry in enumerate(entries if isinstance(entries, list) else ())
            if isinstance(entry, dict) and entry.get(words) and str(entry.get("status")) not in DONE
        }

    def _task(self, call: _PendingCall, result: _Result | None) -> None:
        """Creates, changes or removes one task; the tool gives each task a number."""
        arguments = call.part.arguments if isinstance(call.part.arguments, dict) else {}
        named = TASK_NUMBER.search(result.text) if result else None
        number = str(arguments.get("taskId") or (named[1] if named else call.at.turn))
        if str(arguments.get("status")) in DONE:
            self._tasks.pop(number, None)
        elif number in self._tasks:
            self._tasks[number] = replace(self._tasks[number], mark=str(arguments.get("status", "pending")))
        elif arguments.get("subject"):
            self._tasks[number] = _task_item(call, str(arguments["subject"]), "pending")

    def _planned(self, call: _PendingCall) -> None:
        """Adds the steps of a plan that the user approved: its entries, and titles that name a step."""
        plan = argument(call.part, ("plan",)) or ""
        for block in blocks(plan):
            words = " ".join(block.text.split())[:MOST]
            if block.form in ("entry", "row") or _STEP.match(words):
                self._found.add(_task_item(call, words, "planned"), words)

    def _answered(self, result: _Result) -> None:
        text = " ".join(result.text.split())[:MOST]
        at = result.at
        item = TranscriptItem("decision", text, "by the user", at.turn, at.start, at.start + len(result.text), at.order)
        self._found.add(item, text)

    def _refused(self, result: _Result) -> None:
        if reason := REASON.search(result.text):
            start = reason.start(1)
            for point in points(reason[1]):
                if is_forbidden(point.text):
                    at = result.at.later(start)
                    self._instruction("instruction", "rule", reason[1], point.start, point.end, point, at)
                else:
                    self._instructions(reason[1], point, result.at.later(start))


_EXIT: Final = re.compile(r"\b(?:error|exit|code|status|exited|process|with)\b", re.IGNORECASE)
_STEP: Final = re.compile(r"\W*(?:step|phase|task|part)\s+\w+", re.IGNORECASE)


def _only_looks(simple: Iterable[str]) -> bool:
    """Returns whether commands only look around: that something is not there is no error of the work."""
    return all(LOOKING.match(each) or looks_elsewhere(each) for each in simple)


def _plain(command: str) -> str:
    """Returns a command without the flags that change between runs of the same one."""
    return re.sub(r"\s(?:-v+|-q+|-count=\d+|--verbose|--quiet|-n ?\d+|-\d+)(?=\s|\Z)", "", command)


def _statement(kind: LostKind, mark: str, point: Point, at: _Place, origin: SpeechOrigin) -> TranscriptItem:
    return TranscriptItem(
        kind, point.text, mark, at.turn, at.start + point.start, at.start + point.end, at.order,
        origin=origin, form=point.form, above=point.above,
    )  # fmt: skip


def _task_item(call: _PendingCall, text: str, status: str) -> TranscriptItem:
    return TranscriptItem("task", text, status, call.at.turn, *call.span_of(text), call.at.order, "open", "output")
