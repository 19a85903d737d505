"""What a page without a server holds: the answers that the view of a session, a run, a file or a context asks for.

Each view has a function here that asks what its JavaScript asks, in the same words: the address of a question is the
key of its answer. A list that is read page by page is read up to a limit, and the page says so.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

import msgspec

from slicebase.core.refs import Ref
from slicebase.core.times import Moment, milliseconds, to_text
from slicebase.errors import SlicebaseError, Where
from slicebase.verbs.imports import write_export
from slicebase.web.api.table import ENDPOINTS
from slicebase.web.branches import branches_of
from slicebase.web.endpoints import PREFIX, Endpoint, Raw
from slicebase.web.standalone import standalone_page
from slicebase.workspace.boundary import real_path
from slicebase.workspace.given_paths import given_path
from slicebase.workspace.workspace import StrPath

if TYPE_CHECKING:
    from slicebase.base import Slicebase

_KINDS: Final = ("session", "run", "file", "mf", "turn")
_PATHS: Final[Mapping[str, Endpoint]] = {
    each.path.replace(":path}", "}"): each for each in ENDPOINTS if each.method == "GET"
}


def export_html(memory: "Slicebase", reference: str, to: StrPath) -> Path:
    """Writes a page with the view of a session, a run, a slice file or a context to a new file."""
    ref, path = memory.names.ref(reference, _KINDS, otherwise="session"), given_path(to, "cannot-write")
    if real_path(path, "cannot-write").is_relative_to(real_path(memory.workspace.library)):
        hint = "write the page to another folder: what is in the library goes wherever its repository goes"
        raise SlicebaseError(
            "cannot-write", "the library holds slice files, not pages", hint=hint, where=Where(str(to))
        )
    page = partial(exported_page, memory, ref, memory.surroundings.clock())
    session = _session_of(memory, ref.name) if ref.kind == "turn" else ref.name if ref.kind == "session" else None
    return write_export(memory, path, page, session or str(ref))


def exported_page(memory: "Slicebase", ref: Ref, time: Moment) -> bytes:
    """Returns a page with the view of what is named. `time` is shown on it; all else depends on what is stored."""
    if ref.kind not in _VIEWS:
        hint = "name a session, a turn of one, a run, a file or a context"
        raise SlicebaseError("bad-reference", f"{ref} has no page", hint=hint)
    asked = Answers(memory)
    place = _VIEWS[ref.kind](asked, ref.id)
    values = {"address": place, "time": to_text(milliseconds(time)), "notes": asked.notes, **asked.more_values}
    return standalone_page({**values, "answers": dict(sorted(asked.answers.items()))}, str(ref))


def _session_of(memory: "Slicebase", turn: str) -> str:
    return memory.truth.turns.get(turn).record.session


class Answers:
    """The answers of the API, by the addresses that a page asks."""

    def __init__(self, memory: "Slicebase") -> None:
        self.answers: dict[str, Any] = {}
        self.notes: list[str] = []
        self.more_values: dict[str, Any] = {}  # what a view needs and no endpoint answers
        self.memory = memory
        self._bytes = 0

    def ask(self, path: str, **values: Any) -> Any:
        """Returns the answer of an endpoint, which is named by its path with the names of its fields."""
        endpoint = _PATHS[path]
        try:
            given = msgspec.convert(values, endpoint.asked, strict=False)
        except msgspec.ValidationError as error:  # as the server answers: a log may have any values (ruling 35)
            raise SlicebaseError("bad-arguments", str(error)) from None
        found = endpoint.call(self.memory, given)
        data = found.data if isinstance(found, Raw) else msgspec.json.encode(found)
        self._bytes += len(data)
        answer = self.answers[address(endpoint, values)] = msgspec.json.decode(data)
        return answer

    def more(self, path: str, **values: Any) -> Any:
        """Returns the answer to what a reader opens; None where there is none, or where the page is large already."""
        if self._bytes > _MOST_BYTES:
            self.note(f"at most {_MOST_BYTES // 1_000_000} MB: what opens last is left out")
            return None
        try:
            return self.ask(path, **values)
        except SlicebaseError:  # the view shows that, too
            return None

    def pages(self, path: str, most: int, *, field: str, **values: Any) -> list[Any]:
        """Returns the entries of a list, which is asked page by page. After `most` entries it ends, with a note."""
        found: list[Any] = []
        cursor: str | None = ""
        while cursor is not None:
            answer = self.ask(path, **values, **({"cursor": cursor} if cursor else {}))
            found += answer[field]
            cursor = answer["next"]
            if cursor is not None and (len(found) >= most or self._bytes > _MOST_BYTES):
                self.note(f"the first {len(found):,} {field}")
                cursor = answer["next"] = None
        return found

    def note(self, what: str) -> None:
        """Lets the page say what it has instead of all."""
        text = f"This page has {what}. `tt serve` shows everything."
        if text not in self.notes:
            self.notes.append(text)


def address(endpoint: Endpoint, values: Mapping[str, Any]) -> str:
    """Returns the address of a question as the pages write it (`keyOf` in lib/api.js)."""
    path = PREFIX + endpoint.path.replace(":path}", "}")
    for name in endpoint.in_path:
        part = _part(str(values[name]), "run" if endpoint.path.startswith("/runs/") else "session")
        path = path.replace(f"{{{name}}}", part.replace("%2F", "/"))
    query = {name: _written(value) for name, value in sorted(values.items()) if name not in endpoint.in_path}
    text = urlencode(query, safe="*").replace("~", "%7E")  # as URLSearchParams
    return f"{path}?{text}" if text else path


def _part(name: str, kind: str = "session") -> str:
    """Returns a part of a path, as `part` in lib/api.js writes it."""
    return quote(f"{kind}:{name}" if name in (".", "..") else name, safe="!~*'()")


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# Views: each asks what the JavaScript of its view asks (static/views)


def _file(asked: Answers, name: str) -> str:
    file = asked.ask("/files/{id}", id=name)
    asked.ask("/files/{id}/links", id=name)
    asked.ask("/files/{id}/findings", id=name)
    for depth, infer in product(("1", "2", "3"), (True, False)):
        asked.ask("/files/{id}/neighbourhood", id=name, depth=depth, infer=infer)
    match file["type"]:
        case _ if file["purged"]:
            pass
        case "jsonl":
            for group in asked.pages("/files/{id}/rows", _MOST, field="groups", id=name, limit=50):
                for row in (*group["current"], *group["former"]):
                    asked.more("/files/{id}/rows/{row}", id=name, row=row["id"], start=0)
        case "conversation":
            asked.pages("/files/{id}/conversation", _MOST, field="entries", id=name, limit=50)
        case "routine":
            asked.pages("/files/{id}/routine", _MOST, field="steps", id=name, limit=100)
        case kind if kind != "none" or file["path"]:
            _text(asked, name)
    return f"/file/{_part(name)}"


def _text(asked: Answers, name: str) -> None:
    """Asks for the windows of a text, and for each section that its outline leads to; of a long text, it has none."""
    first = window = asked.ask("/files/{id}/body", id=name)
    while window["end"] < window["total"]:
        following = asked.more("/files/{id}/body", id=name, start=window["end"])
        if following is None:
            window["total"] = window["end"]
            break
        window = following
    if len(first["headings"]) * first["total"] > _MOST_OUTLINED:
        first["headings"] = []
    for heading in first["headings"] if len(first["headings"]) > 2 else ():
        asked.more("/files/{id}/body", id=name, at=heading["ref"])


def _run(asked: Answers, name: str) -> str:
    found = asked.ask("/runs/{run}", run=name)
    for each in ("status", "timeline", "report", "narrative"):
        asked.more(f"/runs/{{run}}/{each}", run=name)
    for kind in ("claims", "conflicts", "failures"):
        _items(asked, kind, name)
    asked.pages("/runs/{owner}/questions", _MOST, field="questions", owner=name, limit=50)
    for each in asked.pages("/runs/{run}/snapshots", _MOST, field="snapshots", run=name, limit=50):
        asked.more("/snapshots/{snapshot}", snapshot=each["snapshot_id"])
    for after in range(0, max(1, found["events"]), EVENTS):
        asked.more("/runs/{run}/steps", run=name, after=after, limit=EVENTS)
    for seq in range(1, found["events"] + 1):
        event = asked.more("/runs/{run}/events/{seq}", run=name, seq=seq)
        for blob in sorted(_blobs(event)):
            asked.more("/runs/{run}/blobs/{blob}", run=name, blob=blob)
        if event is None:
            break
    return f"/run/{_part(name, 'run')}"


def _items(asked: Answers, kind: str, run: str) -> None:
    """Asks for the items of a run, all and those of each status and kind, with the quotes that they rest on."""
    path = f"/runs/{{owner}}/{kind}"
    rows = asked.pages(path, _MOST, field=kind, owner=run, limit=50)
    counts = asked.ask(path, owner=run, limit=50)
    for status, of_kind in product(("", *counts["statuses"]), ("", *counts.get("kinds", ()))):
        chosen = {"status": status, "kind": of_kind}
        if any(chosen.values()):
            with suppress(SlicebaseError):  # no filter of the view can have this value
                asked.pages(
                    path,
                    _MOST,
                    field=kind,
                    owner=run,
                    limit=50,
                    **{key: value for key, value in chosen.items() if value},
                )
    for row in rows:
        for cited in (*row.get("evidence", ()), *row.get("side_a", ()), *row.get("side_b", ())):
            asked.more("/evidence/{evidence}", evidence=cited["evidence_id"], around=400)


def _blobs(value: Any) -> set[str]:
    """Returns the names of the contents that a payload names by their hashes."""
    if isinstance(value, list):
        return {name for each in value for name in _blobs(each)}
    if not isinstance(value, dict):
        return set()
    own = {value["blob"]} if isinstance(value.get("blob"), str) else set()
    return own | {name for each in value.values() for name in _blobs(each)}


def _context(asked: Answers, name: str) -> str:
    asked.ask("/manifests/{manifest}", manifest=name)
    asked.ask("/manifests/{manifest}/replay", manifest=name)
    return f"/context/{_part(name)}"


def _session(asked: Answers, name: str, around: int = 0) -> str:
    """Asks for a session: its tree, all branches, what its compactions lost. A page chooses no other anchor.

    Of a session with many turns, it has those around a number.
    """
    view = asked.ask("/sessions/{session}", session=name)
    asked.ask("/policies")
    if view["compactions"]:
        asked.more("/lost/{session}", session=name, limit=200)
    turns: list[str] = []
    begin = max(0, min(around - TURNS // 2, view["turns"] - TURNS)) // _ROWS * _ROWS
    for first in range(begin, min(view["turns"], begin + TURNS), _ROWS):
        window = asked.ask("/trees/{session}", session=name, first=first, limit=_ROWS)
        window["turns"] = min(window["turns"] - begin, TURNS)
        turns += [row["turn"] for row in window["rows"]]
    if view["turns"] > len(turns):
        which = f"turns {begin + 1:,} to {begin + len(turns):,}" if begin else f"the first {len(turns):,}"
        asked.note(f"{which} of {view['turns']:,} turns")
        asked.more_values |= {"begin": begin, "cut": True}
        view["turns"], view["first"], view["last"] = len(turns), turns[0], turns[-1]
        view["compactions"] = [each for each in view["compactions"] if each["turn"] in turns]
    asked.more_values["branches"] = branches = branches_of(asked.memory, turns)
    if len(branches["turns"]) < len(turns):
        asked.note(f"{len(branches['turns']):,} of the {len(turns):,} turns of its tree as a chat")
    for turn, shown in branches["turns"].items():
        if any(part["size"] > len(part["text"]) for part in shown["parts"]):
            asked.more("/turns/{turn}", turn=turn)
    return f"/session/{_part(name)}"


def _turn(asked: Answers, name: str) -> str:
    """Asks for the session of a turn, and for the context slice around the turn."""
    session = _session_of(asked.memory, name)
    number = asked.memory.graph.tree(session, 0, 1, turn=name).rows[0].number
    place = _session(asked, session, number)
    asked.more_values["seen"] = seen = {"first": max(0, number - TURNS // 4), "limit": TURNS // 2}
    asked.ask("/slices/{turn}/drawn", turn=name, **seen)
    return f"{place}?turn={name}&anchor={name}"


EVENTS: Final = 500  # of a run that an exported page shows at once (views/run_timeline.js)
TURNS: Final = 1000  # of a session
_ROWS: Final = 100  # of a tree that are asked for together (lib/session_windows.js)
_MOST: Final = 500  # entries of a list
_MOST_OUTLINED: Final = 1_000_000  # characters of a text for each of its sections, together
_MOST_BYTES: Final = 8_000_000  # of the answers in a page
_VIEWS: Final[Mapping[str, Callable[[Answers, str], str]]] = {
    "session": _session,
    "turn": _turn,
    "run": _run,
    "file": _file,
    "mf": _context,
}
