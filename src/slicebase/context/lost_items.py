"""The items of a transcript that a summary should keep, found by phrases, tools and results (docs/lost.md).

decision      a sentence of the user or the assistant with a phrase of DECISIONS; an answer that the user chose
instruction   a sentence of the user that asks, orders or corrects (the sentence after a correction belongs to it), and
              any other sentence in a message that was typed, not pasted; a tool call that the user refused
task          an entry of the newest list of tasks that is not done; a sentence with a phrase of OPEN
error         a failure that a tool reported, and whether the same was done again with success
test          a command that runs tests, once for each command, with the result of its last run
file          a file that a tool read or wrote, once for each file
command       any other command that was run in a shell, once for each command, with the outcome of its last run

The marks of items ("told", "mended", "met", …) are rendered into contexts and stay as they are.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from slicebase.context.lost_rules import (
    CORRECTION,
    DONE,
    FILES,
    INJECTED_TEXT,
    PATCHED,
    PATHS,
    REASON,
    REFUSED,
    TASK_NUMBER,
    TODO_LISTS,
    LostKind,
    Sentence,
    command_in,
    content_stems,
    error_line,
    exit_code,
    how_tests_ended,
    is_test,
    kind_of_sentence,
    result_line,
    result_traces,
    sentences,
    simple_commands,
)
from slicebase.graph.turn import Part, Turn, part_text

_TOO_LONG: Final = 2000  # characters; a longer text is not a sentence
_TYPED: Final = 600  # characters; a longer message was pasted, at least in part


class TranscriptItem(Struct, frozen=True):
    """Something that a summary should keep, with its turn and its span in the text of the turn."""

    kind: LostKind
    text: str
    mark: str  # who said it, or how it ended
    turn: str
    start: int
    end: int
    result: str | None = None  # the turn with the result of the call
    times: int = 1
    # A summary keeps the item if it quotes every text of one of these groups. Without groups, its words decide.
    quotes: tuple[tuple[str, ...], ...] = ()


def items(turns: Iterable[Turn]) -> list[TranscriptItem]:
    """Returns the items of the turns, in order; an item that occurs several times is returned once."""
    reader = _Reader()
    for turn in turns:
        reader.read(turn)
    return reader.close()


class _PendingCall(NamedTuple):
    """A call, and the span of its text in its turn."""

    turn: str
    start: int
    end: int
    part: Part


class _Result(NamedTuple):
    turn: str
    start: int
    end: int
    text: str
    failed: bool


class _Reader:
    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], TranscriptItem] = {}
        self._calls: dict[str, _PendingCall] = {}
        self._failed: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}  # open errors, by the call that failed
        self._tasks: dict[str, TranscriptItem] = {}

    def read(self, turn: Turn) -> None:
        place = 0
        for part in turn.parts:
            text = part_text(part)
            self._part(turn, part, text, place)
            place += len(text) + 2 if text else 0  # the blank line between parts (ruling 36)

    def close(self) -> list[TranscriptItem]:
        for call in self._calls.values():
            self._call(call, None)
        found = [*self._found.values(), *self._tasks.values()]
        return _with_shortest_names(found)

    # Parts

    def _part(self, turn: Turn, part: Part, text: str, place: int) -> None:
        if part.type == "tool_call":
            call = _PendingCall(turn.id, place, place + len(text), part)
            if part.call_id:
                self._calls[part.call_id] = call
            else:
                self._call(call, None)
        elif part.type == "tool_result":
            body = _blanked(part.text or "")
            failed = part.error or bool(exit_code(body))
            waiting = self._calls.pop(part.call_id or "", None)
            if waiting:
                self._call(waiting, _Result(turn.id, place, place + len(text), body, failed))
        elif part.type == "text" and turn.role in ("user", "assistant") and not part.hidden:
            if part.error:
                self._add(
                    _error_item(_PendingCall(turn.id, place, place + len(text), part), turn.id, text, place, "met"),
                    text,
                )
            elif turn.role == "assistant" or not INJECTED_TEXT.match(text):
                self._message(turn, text, place)

    def _message(self, turn: Turn, text: str, place: int) -> None:
        by_user = turn.role == "user"
        statements = [
            each
            for each in sentences(_blanked(text))
            if len(each.text) <= _TOO_LONG and not INJECTED_TEXT.match(each.text)
        ]
        typed = by_user and len(text) <= _TYPED
        corrects = False
        for each in statements:
            found = kind_of_sentence(each.text, by_user=by_user) or (("instruction", "told") if typed else None)
            if found and corrects and found[0] == "instruction":
                found = CORRECTION
            corrects = found == CORRECTION and not corrects
            if found and len(content_stems(each.text)) >= 2:
                self._add(_sentence_item(turn.id, each, place, *found), each.text)

    # Calls

    def _call(self, call: _PendingCall, result: _Result | None) -> None:
        name = (call.part.name or "").lower()
        arguments = call.part.arguments
        if result and result.failed and REFUSED.search(result.text):
            self._refused(call, result)
        elif command := command_in(name, arguments):
            self._command(call, command, result)
        elif name in FILES or name.endswith("apply_patch"):
            self._file(call, name, result)
        elif name in TODO_LISTS:
            self._list(call, *TODO_LISTS[name])
        elif name in ("taskcreate", "taskupdate"):
            self._task(call, result)
        elif name == "askuserquestion" and result and not result.failed:
            self._answered(call, result)
        elif result and result.failed:
            self._failure(call, result, (name, part_text(call.part)))

    def _command(self, call: _PendingCall, command: str, result: _Result | None) -> None:
        simple = simple_commands(command)
        if patched := PATCHED.findall(command):
            self._files(call, patched, "written", result)
        elif simple and is_test(simple):
            self._test(call, command, simple, result)
        elif simple:
            mark = "unfinished" if result is None else "failed" if result.failed else "ok"
            self._add(_call_item("command", command, mark, call, result, (simple,)), *simple)
            if result:
                self._outcome(call, result, simple)

    def _test(self, call: _PendingCall, command: str, simple: tuple[str, ...], result: _Result | None) -> None:
        output = result.text if result else ""
        mark = how_tests_ended(output, error=result.failed) if result else "unfinished"
        line = result_line(output)
        text = f"{_first_line(command)} → {line}" if line else command
        traces = tuple((trace,) for trace in result_traces(output))
        self._add(_call_item("test", text, mark, call, result, (simple, *traces)), *simple)
        if result:
            self._outcome(call, result._replace(failed=mark == "failed"), simple)

    def _outcome(self, call: _PendingCall, result: _Result, identity: tuple[str, ...]) -> None:
        if result.failed:
            self._failure(call, result, identity)
        else:
            for key in self._failed.pop(identity, ()):
                self._found[key] = replace(self._found[key], mark="mended")

    def _failure(self, call: _PendingCall, result: _Result, identity: tuple[str, ...]) -> None:
        line, start = error_line(result.text)
        key = self._add(_error_item(call, result.turn, line, result.start + start, "open"), *identity, line)
        self._failed.setdefault(identity, []).append(key)

    def _file(self, call: _PendingCall, name: str, result: _Result | None) -> None:
        arguments = call.part.arguments
        if name.endswith("apply_patch"):
            self._files(call, PATCHED.findall(part_text(call.part).replace("\\n", "\n")), "written", result)
        elif isinstance(arguments, dict):
            path = next((arguments[key] for key in PATHS if isinstance(arguments.get(key), str)), None)
            how = "read" if arguments.get("command") == "view" else FILES[name]
            self._files(call, [path] if path else [], how, result)

    def _files(self, call: _PendingCall, paths: Sequence[str], how: str, result: _Result | None) -> None:
        identity = ("file", *paths)
        if result:
            self._outcome(call, result, identity)
        for path in paths if not (result and result.failed) else ():
            key = ("file", path)
            before = self._found.get(key)
            item = _call_item("file", path, how, call, result, ())
            if before and before.mark == "written" != how:
                self._found[key] = replace(before, times=before.times + 1)
            else:
                self._add(item, path)

    # Lists of tasks, answers, refusals

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
        number = str(arguments.get("taskId") or (named[1] if named else call.turn))
        if str(arguments.get("status")) in DONE:
            self._tasks.pop(number, None)
        elif number in self._tasks:
            self._tasks[number] = replace(self._tasks[number], mark=str(arguments.get("status", "pending")))
        elif arguments.get("subject"):
            self._tasks[number] = _task_item(call, str(arguments["subject"]), "pending")

    def _answered(self, call: _PendingCall, result: _Result) -> None:
        text = " ".join(result.text.split())
        self._add(TranscriptItem("decision", text, "by the user", result.turn, result.start, result.end), text)

    def _refused(self, call: _PendingCall, result: _Result) -> None:
        reason = REASON.search(result.text)
        text = " ".join(reason[1].split()) if reason else f"refused: {_first_line(part_text(call.part))}"
        self._add(TranscriptItem("instruction", text, "correction", result.turn, result.start, result.end), text)

    def _add(self, item: TranscriptItem, *identity: str) -> tuple[Any, ...]:
        """Adds an item and returns its key. Of repeated statements the first is kept, of repeated actions the last."""
        key = (item.kind, *(" ".join(words.lower().split()) if _is_statement(item) else words for words in identity))
        before = self._found.pop(key, None) if not _is_statement(item) else self._found.get(key)
        if before is None:
            self._found[key] = item
        else:
            self._found[key] = replace(before if _is_statement(item) else item, times=before.times + 1)
        return key


def _is_statement(item: TranscriptItem) -> bool:
    return item.kind in ("decision", "instruction", "task")


# Sentences

_REMINDER: Final = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)


def _blanked(text: str) -> str:
    """Returns the text with the reminders of clients replaced by spaces, so that offsets do not change."""
    return _REMINDER.sub(lambda match: " " * len(match[0]), text)


def _sentence_item(turn: str, sentence: Sentence, place: int, kind: LostKind, mark: str) -> TranscriptItem:
    return TranscriptItem(
        kind, " ".join(sentence.text.split()), mark, turn, place + sentence.start, place + sentence.end
    )


# Items of calls


def _call_item(
    kind: LostKind,
    text: str,
    mark: str,
    call: _PendingCall,
    result: _Result | None,
    quotes: tuple[tuple[str, ...], ...],
) -> TranscriptItem:
    result_turn = result.turn if result else None
    return TranscriptItem(kind, text, mark, call.turn, call.start, call.end, result_turn, quotes=quotes)


def _error_item(call: _PendingCall, turn: str, line: str, start: int, mark: str) -> TranscriptItem:
    return TranscriptItem("error", " ".join(line.split()), mark, turn, start, start + len(line), call.turn)


def _task_item(call: _PendingCall, text: str, status: str) -> TranscriptItem:
    return TranscriptItem("task", text, status, call.turn, call.start, call.end)


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]


# Files


def _with_shortest_names(found: Sequence[TranscriptItem]) -> list[TranscriptItem]:
    """Returns the items with quotes for files: every end of a path that no other path has."""
    paths = [item.text for item in found if item.kind == "file"]
    return [
        replace(item, quotes=tuple((name,) for name in _names(item.text, paths))) if item.kind == "file" else item
        for item in found
    ]


def _names(path: str, others: Sequence[str]) -> list[str]:
    steps = [step for step in path.split("/") if step]
    ends = ["/".join(steps[at:]) for at in range(len(steps))]
    return [end for end in ends if sum(other == end or other.endswith("/" + end) for other in others) == 1]
