"""The items of a transcript: what a continuing agent may need of it, each with its state (docs/lost.md).

instruction   what the user says, each point once; a tool call that the user refused, with the reason
decision      what the user or the assistant settled; an answer that the user chose; a plan that the user approved
finding       a conclusion of the assistant or of a subagent; a line of output that the assistant then relied on
artefact      a branch, a commit, a pull request, an issue, a URL, a file that was created
task          an entry of the newest list of tasks; what the assistant says is to be done, or offers
error         a failure that a tool reported
command       a command that is needed again: it builds, tests, checks, deploys or calls a tool of the project

Extraction knows nothing of a summary: `items` is a function of turns. States are set by `lost_follow`.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from slicebase.context.lost_artefacts import artefacts_in
from slicebase.context.lost_phrases import LostKind, kind_of_prompt, kind_of_statement
from slicebase.context.lost_points import MOST, Point, points, without_narration
from slicebase.context.lost_shell import (
    PATCHED,
    command_class,
    command_in,
    error_line,
    exit_code,
    how_tests_ended,
    needed_lines,
    simple_commands,
)
from slicebase.context.lost_speech import (
    CLIENT_PROMPT,
    REPORTERS,
    SpeechOrigin,
    TextBlock,
    blanked,
    is_client_result,
    is_pasted,
)
from slicebase.context.lost_words import content_stems
from slicebase.context.rediscovery import PATHS, WRITERS, first_text
from slicebase.graph.turn import Part, Turn, part_text

State = str  # standing, open, done, resolved, revised, rejected, overturned, gone

# Tools that write a complete list of tasks: the key of the list, and the key of the text of an entry.
TODO_LISTS: Final = {
    "todowrite": ("todos", "content"),
    "write_todos": ("todos", "description"),
    "update_plan": ("plan", "step"),
}
DONE: Final = frozenset({"completed", "done", "cancelled", "canceled", "deleted"})
TASK_NUMBER: Final = re.compile(r"Task #(\w+)")
REFUSED: Final = re.compile(
    r"(?:user|person) (?:doesn't|does not|didn't) want to|rejected by (?:the )?user", re.IGNORECASE
)
REASON: Final = re.compile(r"the user (?:said|provided the following reason[^:]*):\s*(.+)", re.DOTALL | re.IGNORECASE)
_REPORTED: Final[tuple[LostKind, str]] = ("finding", "stated")
_LEAST_WORDS: Final = {"finding": 3}  # content words of a statement
_PLANNERS: Final = frozenset({"exitplanmode", "exit_plan_mode"})


class TranscriptItem(Struct, frozen=True):
    """Something that a continuing agent may need, with its turn and its span in the text of the turn."""

    kind: LostKind
    text: str
    mark: str  # who said it, what it is, or how it ended
    turn: str
    start: int
    end: int
    order: int  # the number of its turn, from 0
    state: State = "standing"
    origin: SpeechOrigin = "speech"
    form: str = "paragraph"
    above: str = ""  # the heading that it stands under
    result: str | None = None  # the turn with the result of the call
    times: int = 1
    # The texts that must all be quoted for a summary to contain the item. Without them, its words decide.
    quotes: tuple[str, ...] = ()


def read_items(turns: Iterable[Turn]) -> list[TranscriptItem]:
    """Returns the items of turns in order, without following what became of statements; repeated ones once."""
    reader = _Reader()
    for order, turn in enumerate(turns):
        reader.read(order, turn)
    return reader.close()


class _PendingCall(NamedTuple):
    """A call, and the span of its text in its turn."""

    turn: str
    start: int
    end: int
    order: int
    part: Part


class _Result(NamedTuple):
    turn: str
    start: int
    end: int
    order: int
    text: str
    failed: bool


class _Reader:
    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], TranscriptItem] = {}
        self._calls: dict[str, _PendingCall] = {}
        self._failed: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}  # open errors, by the call that failed
        self._tasks: dict[str, TranscriptItem] = {}

    def read(self, order: int, turn: Turn) -> None:
        place = 0
        for part in turn.parts:
            text = part_text(part)
            self._part(turn, order, part, text, place)
            place += len(text) + 2 if text else 0  # the blank line between parts (ruling 36)

    def close(self) -> list[TranscriptItem]:
        for call in self._calls.values():
            self._call(call, None)
        return sorted([*self._found.values(), *self._tasks.values()], key=lambda item: (item.order, item.start))

    # Parts

    def _part(self, turn: Turn, order: int, part: Part, text: str, place: int) -> None:
        if part.type == "tool_call":
            call = _PendingCall(turn.id, place, place + len(text), order, part)
            if part.call_id:
                self._calls[part.call_id] = call
            else:
                self._call(call, None)
        elif part.type == "tool_result":
            body = blanked(part.text or "")
            failed = part.error or bool(exit_code(body))
            waiting = self._calls.pop(part.call_id or "", None)
            if waiting:
                self._call(waiting, _Result(turn.id, place, place + len(text), order, body, failed))
        elif part.type == "text" and turn.role in ("user", "assistant") and not part.hidden and not part.error:
            spoken = blanked(text)
            if turn.role == "assistant":
                self._said(turn.id, order, spoken, place, "speech")
            elif not CLIENT_PROMPT.match(text):
                self._prompt(turn.id, order, spoken, place)

    def _prompt(self, turn: str, order: int, text: str, place: int) -> None:
        for point in points(text):
            block = TextBlock(text[point.start : point.end], point.start, point.end, point.form, point.above)
            pasted = is_pasted(block)
            if len(content_stems(point.text)) >= 2 and not pasted and not CLIENT_PROMPT.match(point.text):
                kind, mark = kind_of_prompt(point.text)
                self._add(_statement(kind, mark, turn, order, point, place, "speech"), point.text)
            self._add_artefacts(turn, order, text[point.start : point.end], place + point.start)

    def _said(self, turn: str, order: int, text: str, place: int, origin: SpeechOrigin) -> None:
        for point in points(text):
            told = without_narration(point, text) if origin == "speech" else point
            if told:
                kind, mark = kind_of_statement(told.text, told.above) if origin == "speech" else _REPORTED
                if len(content_stems(told.text)) >= _LEAST_WORDS.get(kind, 2):
                    self._add(_statement(kind, mark, turn, order, told, place, origin), told.text)
            self._add_artefacts(turn, order, text[point.start : point.end], place + point.start)

    def _add_artefacts(self, turn: str, order: int, text: str, place: int, source: str = "") -> None:
        for each in artefacts_in(text, source):
            self._add(
                TranscriptItem(
                    "artefact", each.text, each.what, turn, place + each.start, place + each.end, order,
                    origin="output" if source else "speech", quotes=each.names,
                ),
                *each.names,
            )  # fmt: skip

    # Calls

    def _call(self, call: _PendingCall, result: _Result | None) -> None:
        name = (call.part.name or "").lower()
        if result and result.failed and REFUSED.search(result.text):
            self._refused(call, result)
        elif command := command_in(name, call.part.arguments):
            self._command(call, command, result)
        elif name in WRITERS or name.endswith("apply_patch"):
            self._written(call, name, result)
        elif name in TODO_LISTS:
            self._list(call, *TODO_LISTS[name])
        elif name in ("taskcreate", "taskupdate"):
            self._task(call, result)
        elif name == "askuserquestion" and result and not result.failed:
            self._answered(result, "by the user")
        elif name in _PLANNERS and result and not result.failed:
            self._answered(result, "approved")
        elif name in REPORTERS and result and not is_client_result(result.text):
            self._said(result.turn, result.order, result.text, result.start, "report")
        elif result and result.failed:
            self._failure(call, result, (name, part_text(call.part)))

    def _command(self, call: _PendingCall, command: str, result: _Result | None) -> None:
        simple = simple_commands(command)
        patched = PATCHED.findall(command)
        if patched or not simple:
            return
        what = command_class(simple)
        output = result.text if result else ""
        failed = (
            result.failed or (what == "test" and how_tests_ended(output, error=False) == "failed") if result else False
        )
        if what:
            needed = needed_lines(command) or command
            at = part_text(call.part).find(needed)  # where it stands as it is; else the complete call
            start, end = (call.start + at, call.start + at + len(needed)) if at >= 0 else (call.start, call.end)
            state = "unfinished" if result is None else "failed" if failed else "standing"
            self._add(
                TranscriptItem(
                    "command", needed, what, call.turn, start, end, call.order, state,
                    "output", result=result.turn if result else None, quotes=simple,
                ),
                *(_plain(each) for each in simple),
            )  # fmt: skip
        if result and not failed:
            self._add_artefacts(result.turn, result.order, output[:4000], result.start, " && ".join(simple))
        if result:
            self._outcome(call, result._replace(failed=failed), simple)

    def _outcome(self, call: _PendingCall, result: _Result, identity: tuple[str, ...]) -> None:
        if result.failed:
            self._failure(call, result, identity)
        else:
            for key in self._failed.pop(identity, ()):
                self._found[key] = replace(self._found[key], state="resolved")

    def _failure(self, call: _PendingCall, result: _Result, identity: tuple[str, ...]) -> None:
        line, start = error_line(result.text)
        if len(content_stems(line)) < 2 or is_client_result(result.text):
            return
        item = TranscriptItem(
            "error", " ".join(line.split())[:MOST], "failed", result.turn, result.start + start,
            result.start + start + len(line), result.order, "open", "output", result=call.turn,
        )  # fmt: skip
        self._failed.setdefault(identity, []).append(self._add(item, *identity, line))

    def _written(self, call: _PendingCall, name: str, result: _Result | None) -> None:
        arguments = call.part.arguments if isinstance(call.part.arguments, dict) else {}
        if name.endswith("apply_patch"):
            paths = PATCHED.findall(part_text(call.part).replace("\\n", "\n"))
        else:
            paths = [path] if (path := first_text(arguments, PATHS)) else []
        if result:
            self._outcome(call, result, ("file", *paths))
        made = name in ("write", "write_file", "create_file") or "*** Add File" in part_text(call.part)
        for path in paths if not (result and result.failed) and made else ():
            item = TranscriptItem(
                "artefact", path, "file", call.turn, call.start, call.end, call.order,
                origin="output", quotes=(path.rsplit("/", 1)[-1],),
            )  # fmt: skip
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

    def _answered(self, result: _Result, mark: str) -> None:
        text = " ".join(result.text.split())[:MOST]
        self._add(TranscriptItem("decision", text, mark, result.turn, result.start, result.end, result.order), text)

    def _refused(self, call: _PendingCall, result: _Result) -> None:
        reason = REASON.search(result.text)
        if reason:
            text = " ".join(reason[1].split())[:MOST]
            mark = "rule" if kind_of_prompt(text)[1] == "rule" else "correction"
            place = result.start + reason.start(1)
            self._add(TranscriptItem("instruction", text, mark, result.turn, place, result.end, result.order), text)

    def _add(self, item: TranscriptItem, *identity: str) -> tuple[Any, ...]:
        """Adds an item and returns its key. Of repeated statements the first is kept, of repeated actions the last."""
        lasting = item.kind not in ("command", "error")
        key = (item.kind, *(" ".join(words.lower().split()) if lasting else words for words in identity))
        before = self._found.get(key) if lasting else self._found.pop(key, None)
        if before is None:
            self._found[key] = item
        else:
            self._found[key] = replace(before if lasting else item, times=before.times + 1)
        return key


def _plain(command: str) -> str:
    """Returns a command without the flags that change between runs of the same one."""
    return re.sub(r"\s(?:-v+|-q+|-count=\d+|--verbose|--quiet|-n ?\d+|-\d+)(?=\s|\Z)", "", command)


def _statement(
    kind: LostKind, mark: str, turn: str, order: int, point: Point, place: int, origin: SpeechOrigin
) -> TranscriptItem:
    return TranscriptItem(
        kind, point.text, mark, turn, place + point.start, place + point.end, order,
        origin=origin, form=point.form, above=point.above,
    )  # fmt: skip


def _task_item(call: _PendingCall, text: str, status: str) -> TranscriptItem:
    return TranscriptItem("task", text, status, call.turn, call.start, call.end, call.order, "open", "output")
