"""What turns hold that a summary should hold, too: by phrases, tools and results, without a model (docs/lost.md).

decision      a sentence of the user's or the assistant's with a phrase of DECISIONS; an answer that the user chose
instruction   a sentence of the user's that asks, orders or corrects (the next one belongs to a correction), and any
              other in a message that was typed, not pasted; a tool call that the user refused
task          an entry of the newest list of tasks that is not done; a sentence with a phrase of OPEN
error         what a tool reported as failed, and whether the same was done again and went well
test          a command that runs tests, once for each, with the result of its last run
file          a file that was read or written by a tool, once for each
command       any other command that was run in a shell, once for each, with the outcome of its last run
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
    INJECTED,
    LISTS,
    PATCHED,
    PATHS,
    REASON,
    REFUSED,
    TASK_NUMBER,
    Kind,
    Sentence,
    command_in,
    essence,
    exit_code,
    how_tests_ended,
    is_test,
    kind_of_sentence,
    result_line,
    result_traces,
    sentences,
    telling,
    telling_line,
)
from slicebase.graph.turn import Part, Turn, part_text

_REMINDER: Final = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)

_TOO_LONG: Final = 2000  # characters of a sentence; what is longer is no sentence
_TYPED: Final = 600  # characters of a message that a person typed; what is longer was pasted, at least in part


class TranscriptItem(Struct, frozen=True):
    """Something worth keeping, the turn that holds it, and the span of it there."""

    kind: Kind
    text: str
    mark: str  # by whom, or how it ended
    turn: str
    start: int
    end: int
    result: str | None = None  # the turn in which a call's result came back
    times: int = 1
    # What a summary quotes that keeps it: one of these groups, each whole. Without any, its words decide.
    quotes: tuple[tuple[str, ...], ...] = ()


def items(turns: Iterable[Turn]) -> list[TranscriptItem]:
    """Everything that the turns hold, in their order; what comes several times counts once."""
    reader = _Reader()
    for turn in turns:
        reader.read(turn)
    return reader.close()


class _PendingCall(NamedTuple):
    """A call that waits for its result, or has it."""

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
        self._failed: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}  # errors that the same call may yet mend
        self._tasks: dict[str, TranscriptItem] = {}

    def read(self, turn: Turn) -> None:
        place = 0
        for part in turn.parts:
            text = part_text(part)
            self._part(turn, part, text, place)
            place += len(text) + 2 if text else 0  # the blank line between parts (ruling 36)

    def close(self) -> list[TranscriptItem]:
        for call in self._calls.values():
            self._ran(call, None)
        found = [*self._found.values(), *self._tasks.values()]
        return _with_shortest_names(found)

    # --- parts

    def _part(self, turn: Turn, part: Part, text: str, place: int) -> None:
        if part.type == "tool_call":
            call = _PendingCall(turn.id, place, place + len(text), part)
            if part.call_id:
                self._calls[part.call_id] = call
            else:
                self._ran(call, None)
        elif part.type == "tool_result":
            body = _blanked(part.text or "")
            failed = part.error or bool(exit_code(body))
            waiting = self._calls.pop(part.call_id or "", None)
            if waiting:
                self._ran(waiting, _Result(turn.id, place, place + len(text), body, failed))
        elif part.type == "text" and turn.role in ("user", "assistant") and not part.hidden:
            if part.error:
                self._add(
                    _error(_PendingCall(turn.id, place, place + len(text), part), turn.id, text, place, "met"), text
                )
            elif turn.role == "assistant" or not INJECTED.match(text):
                self._said(turn, text, place)

    def _said(self, turn: Turn, text: str, place: int) -> None:
        by_user = turn.role == "user"
        told = [
            each for each in sentences(_blanked(text)) if len(each.text) <= _TOO_LONG and not INJECTED.match(each.text)
        ]
        typed = by_user and len(text) <= _TYPED
        corrects = False
        for each in told:
            found = kind_of_sentence(each.text, by_user=by_user) or (("instruction", "told") if typed else None)
            if found and corrects and found[0] == "instruction":
                found = CORRECTION
            corrects = found == CORRECTION and not corrects
            if found and len(telling(each.text)) >= 2:
                self._add(_sentence_item(turn.id, each, place, *found), each.text)

    # --- calls

    def _ran(self, call: _PendingCall, result: _Result | None) -> None:
        name = (call.part.name or "").lower()
        arguments = call.part.arguments
        if result and result.failed and REFUSED.search(result.text):
            self._refused(call, result)
        elif command := command_in(name, arguments):
            self._command(call, command, result)
        elif name in FILES or name.endswith("apply_patch"):
            self._file(call, name, result)
        elif name in LISTS:
            self._list(call, *LISTS[name])
        elif name in ("taskcreate", "taskupdate"):
            self._task(call, result)
        elif name == "askuserquestion" and result and not result.failed:
            self._answered(call, result)
        elif result and result.failed:
            self._failure(call, result, (name, part_text(call.part)))

    def _command(self, call: _PendingCall, command: str, result: _Result | None) -> None:
        simple = essence(command)
        if patched := PATCHED.findall(command):
            self._files(call, patched, "written", result)
        elif simple and is_test(simple):
            self._test(call, command, simple, result)
        elif simple:
            mark = "unfinished" if result is None else "failed" if result.failed else "ok"
            self._add(_called("command", command, mark, call, result, (simple,)), *simple)
            if result:
                self._ended(call, result, simple)

    def _test(self, call: _PendingCall, command: str, simple: tuple[str, ...], result: _Result | None) -> None:
        output = result.text if result else ""
        mark = how_tests_ended(output, error=result.failed) if result else "unfinished"
        told = result_line(output)
        text = f"{_first_line(command)} → {told}" if told else command
        traces = tuple((trace,) for trace in result_traces(output))
        self._add(_called("test", text, mark, call, result, (simple, *traces)), *simple)
        if result:
            self._ended(call, result._replace(failed=mark == "failed"), simple)

    def _ended(self, call: _PendingCall, result: _Result, identity: tuple[str, ...]) -> None:
        if result.failed:
            self._failure(call, result, identity)
        else:
            for key in self._failed.pop(identity, ()):
                self._found[key] = replace(self._found[key], mark="mended")

    def _failure(self, call: _PendingCall, result: _Result, identity: tuple[str, ...]) -> None:
        line, start = telling_line(result.text)
        key = self._add(_error(call, result.turn, line, result.start + start, "open"), *identity, line)
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
            self._ended(call, result, identity)
        for path in paths if not (result and result.failed) else ():
            key = ("file", path)
            before = self._found.get(key)
            item = _called("file", path, how, call, result, ())
            if before and before.mark == "written" != how:
                self._found[key] = replace(before, times=before.times + 1)
            else:
                self._add(item, path)

    # --- lists of tasks, answers, refusals

    def _list(self, call: _PendingCall, field: str, words: str) -> None:
        arguments = call.part.arguments
        entries = arguments.get(field) if isinstance(arguments, dict) else None
        self._tasks = {
            str(number): _task_item(call, str(entry[words]), str(entry.get("status")))
            for number, entry in enumerate(entries if isinstance(entries, list) else ())
            if isinstance(entry, dict) and entry.get(words) and str(entry.get("status")) not in DONE
        }

    def _task(self, call: _PendingCall, result: _Result | None) -> None:
        """Tasks that are made and changed one by one, by a number that the tool gives."""
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
        """Takes an item. Of what is said again the first stays, of what is done again the last."""
        key = (item.kind, *(" ".join(words.lower().split()) if _is_said(item) else words for words in identity))
        before = self._found.pop(key, None) if not _is_said(item) else self._found.get(key)
        if before is None:
            self._found[key] = item
        else:
            self._found[key] = replace(before if _is_said(item) else item, times=before.times + 1)
        return key


def _is_said(item: TranscriptItem) -> bool:
    return item.kind in ("decision", "instruction", "task")


# --- sentences


def _blanked(text: str) -> str:
    """The text with what clients put into it blanked out, so that places stay."""
    return _REMINDER.sub(lambda match: " " * len(match[0]), text)


def _sentence_item(turn: str, sentence: Sentence, place: int, kind: Kind, mark: str) -> TranscriptItem:
    return TranscriptItem(
        kind, " ".join(sentence.text.split()), mark, turn, place + sentence.start, place + sentence.end
    )


# --- items of calls


def _called(
    kind: Kind, text: str, mark: str, call: _PendingCall, result: _Result | None, quotes: tuple[tuple[str, ...], ...]
) -> TranscriptItem:
    came_back = result.turn if result else None
    return TranscriptItem(kind, text, mark, call.turn, call.start, call.end, came_back, quotes=quotes)


def _error(call: _PendingCall, turn: str, line: str, start: int, mark: str) -> TranscriptItem:
    return TranscriptItem("error", " ".join(line.split()), mark, turn, start, start + len(line), call.turn)


def _task_item(call: _PendingCall, text: str, status: str) -> TranscriptItem:
    return TranscriptItem("task", text, status, call.turn, call.start, call.end)


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]


# --- files


def _with_shortest_names(found: Sequence[TranscriptItem]) -> list[TranscriptItem]:
    """Files with the names by which a summary may call them: as much of a path's end as tells it from the others."""
    paths = [item.text for item in found if item.kind == "file"]
    return [
        replace(item, quotes=tuple((name,) for name in _names(item.text, paths))) if item.kind == "file" else item
        for item in found
    ]


def _names(path: str, others: Sequence[str]) -> list[str]:
    steps = [step for step in path.split("/") if step]
    ends = ["/".join(steps[at:]) for at in range(len(steps))]
    return [end for end in ends if sum(other == end or other.endswith("/" + end) for other in others) == 1]
