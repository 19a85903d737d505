"""Our hooks in the settings of a coding agent: put there, found, and taken away again.

A hook is known by the comment at the end of its command, which the shell does not see. What the settings were before
is kept beside the workspace: where nobody has changed them since, taking the hooks away restores them byte for byte.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.agents.agent_files import TextChange, find, with_item, without_item
from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.atomic import locked, read_bytes, remove, write_bytes
from slicebase.workspace.workspace import LOCAL, Workspace, make_local_folder

MARK: Final = "# slicebase"
PROGRAM: Final = "tt"
_SECONDS: Final = 10  # after which the client gives a hook up
_KEPT: Final = "hooks.json"


class Client(NamedTuple):
    """A coding agent: where its settings stand in a project, and the events that we want to hear of."""

    settings: str
    events: tuple[str, ...]


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client(".claude/settings.json", ("SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd")),
}


class _Before(msgspec.Struct):
    """Settings as they were and as we left them; no text where there was no file."""

    before: str | None
    after: str
    made_folder: bool


class HookStatus(NamedTuple):
    path: str
    installed: tuple[str, ...]
    missing: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "installed": list(self.installed), "missing": list(self.missing)}


class ClientHooks:
    """The hooks of a workspace's project."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._kept = workspace.root / LOCAL / _KEPT

    def install(self, client: str, *, program: str = PROGRAM, dry_run: bool = False) -> TextChange:
        """Adds what is missing; everything else in the settings stays as it is."""
        path, events = self._of(client)
        make_local_folder(self._workspace.root)
        with locked(self._workspace.lock):
            before = _read(path)
            text = before if before and before.strip() else "{}\n"
            for event in events:
                if event not in _ours(_parsed(text, path)):
                    text = _with_hook(text, path, event, f"{program} hook run {event} {MARK}")
            if text != before and not dry_run:
                self._keep(client, before, text, made_folder=not path.parent.exists())
                path.parent.mkdir(exist_ok=True)
                write_bytes(path, [text.encode(errors="surrogateescape")])
        return TextChange(str(path), text != before, text)

    def uninstall(self, client: str, *, dry_run: bool = False) -> TextChange:
        """Takes our hooks away, and the file and its folder where we made them."""
        path, _ = self._of(client)
        make_local_folder(self._workspace.root)
        with locked(self._workspace.lock):
            now = _read(path)
            kept = self._all_kept().get(client)
            text = _without_hooks(now, path) if now and now.strip() else now
            if kept is not None and now == kept.after:
                text = kept.before
            elif text is not None and kept is not None and kept.before is None and text.strip() == "{}":
                text = None
            if not dry_run:
                self._put_back(client, path, now, text, kept)
        return TextChange(str(path), text != now, text)

    def status(self, client: str) -> HookStatus:
        path, events = self._of(client)
        text = _read(path)
        there = _ours(_parsed(text, path)) if text and text.strip() else set()
        return HookStatus(
            str(path),
            tuple(event for event in events if event in there),
            tuple(event for event in events if event not in there),
        )

    def _of(self, client: str) -> tuple[Path, tuple[str, ...]]:
        if client not in CLIENTS:
            known = ", ".join(CLIENTS)
            raise SlicebaseError("unknown-client", f"there are no hooks for {client!r}", hint=f"there are for {known}")
        return self._workspace.root / CLIENTS[client].settings, CLIENTS[client].events

    # ---- what the settings were before

    def _all_kept(self) -> dict[str, _Before]:
        try:
            return _decoder.decode(self._kept.read_bytes())
        except (OSError, msgspec.MsgspecError):
            return {}

    def _keep(self, client: str, before: str | None, after: str, *, made_folder: bool) -> None:
        known = self._all_kept()
        earlier = known.get(client)
        if earlier is not None and earlier.after == before:  # installed again on top of our own work
            before, made_folder = earlier.before, earlier.made_folder
        known[client] = _Before(before, after, made_folder)
        write_bytes(self._kept, [_encoder.encode(known)])

    def _put_back(self, client: str, path: Path, now: str | None, text: str | None, kept: _Before | None) -> None:
        if text is None:
            remove(path)
            if kept is not None and kept.made_folder and path.parent.is_dir() and not any(path.parent.iterdir()):
                path.parent.rmdir()
        elif text != now:
            write_bytes(path, [text.encode(errors="surrogateescape")])
        left = {name: each for name, each in self._all_kept().items() if name != client}
        if left:
            write_bytes(self._kept, [_encoder.encode(left)])
        else:
            remove(self._kept)


def _with_hook(text: str, path: Path, event: str, command: str) -> str:
    hook = {"hooks": [{"type": "command", "command": command, "timeout": _SECONDS}]}
    if find(text, "hooks") is None:
        changed = with_item(text, (), {event: [hook]}, "hooks")
    elif find(text, "hooks", event) is None:
        changed = with_item(text, ("hooks",), [hook], event)
    else:
        changed = with_item(text, ("hooks", event), hook)
    wanted = _parsed(text, path)
    wanted.setdefault("hooks", {}).setdefault(event, []).append(hook)
    if _parsed(changed, path) != wanted:
        raise _bad(path, "a hook cannot be added without touching something else")
    return changed


def _without_hooks(text: str, path: Path) -> str:
    """Without our commands, and without what they alone were in."""
    while (place := next(_places(_parsed(text, path)), None)) is not None:
        text = without_item(text, place[:-1], place[-1])
        while len(place) > 1 and not _at(_parsed(text, path), place := place[:-1]):
            text = without_item(text, place[:-1], place[-1])
    return text


def _places(settings: dict[str, Any]) -> Iterator[tuple[str | int, ...]]:
    """The paths of our commands."""
    for event, groups in settings.get("hooks", {}).items():
        for number, group in enumerate(groups):
            inner = group.get("hooks") if isinstance(group, dict) else None
            for place, hook in enumerate(inner if isinstance(inner, list) else []):
                if isinstance(hook, dict) and str(hook.get("command", "")).rstrip().endswith(MARK):
                    yield "hooks", event, number, "hooks", place


def _ours(settings: dict[str, Any]) -> set[str]:
    return {str(place[1]) for place in _places(settings)}


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    """What stands at a path. A group of hooks counts as empty when its list of them is, whatever its matcher says."""
    for step in path:
        value = value[step]
    return value.get("hooks") if isinstance(value, dict) and len(path) == 3 else value


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad(path, f"the settings are no JSON: {error}") from None
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise _bad(path, "the settings have another form than the client documents")
    return dict(settings)


def _read(path: Path) -> str | None:
    try:
        return read_bytes(path).decode(errors="surrogateescape")
    except FileNotFoundError:
        return None


def _bad(path: Path, message: str) -> SlicebaseError:
    return SlicebaseError("bad-client-settings", message, hint="mend the file by hand", where=Where(str(path)))


_decoder = msgspec.json.Decoder(dict[str, _Before])
_encoder = msgspec.json.Encoder()
