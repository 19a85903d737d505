"""Installs, finds and removes our hooks in the settings of a coding agent.

A hook is known by the comment at the end of its command, which the shell ignores. The settings before the change are
kept beside the workspace: if nobody has changed them since, removing the hooks restores them byte for byte.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.agents.agent_files import TextChange, find, with_item, without_item
from slicebase.core.parsers import decode
from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.atomic import (
    TEXT_FILE,
    create_folder,
    locked,
    read_bytes,
    remove,
    remove_empty_folder,
    write_bytes,
)
from slicebase.workspace.boundary import inside
from slicebase.workspace.workspace import Workspace, create_local_folder

MARK: Final = "# slicebase"
PROGRAM: Final = "tt"
_KEPT: Final = "hooks.json"
_LARGEST_KEPT: Final = 16 * TEXT_FILE  # bytes: settings before and after a change, escaped


class Client(NamedTuple):
    """A coding agent: where its settings are in a project, and the events that we handle."""

    settings: str
    events: tuple[str, ...]


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client(".claude/settings.json", ("SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd")),
}


class _KeptSettings(msgspec.Struct):
    """Settings before and after our change; `before` is None if there was no file."""

    before: str | None
    after: str
    made_folder: bool


_decoder = msgspec.json.Decoder(dict[str, _KeptSettings])
_encoder = msgspec.json.Encoder()


class HookStatus(NamedTuple):
    """The path of the settings, and the events whose hooks are installed or missing there."""

    path: str
    installed: tuple[str, ...]
    missing: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "installed": list(self.installed), "missing": list(self.missing)}


class ClientHooks:
    """The hooks of a workspace's project."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._root = workspace.root
        self._kept = workspace.local(_KEPT)

    def install(self, client: str, *, program: str = PROGRAM, dry_run: bool = False) -> TextChange:
        """Adds the hooks that are missing; everything else in the settings stays as it is."""
        path, events = self._of(client)
        create_local_folder(self._workspace.root)
        with locked(self._workspace.lock):
            before = _read(path)
            text = before if before and before.strip() else "{}\n"
            for event in events:
                if event not in _our_events(_parsed(text, path)):
                    text = _with_hook(text, path, event, f"{program} hook run {event} {MARK}")
            if text != before and not dry_run:
                self._keep(client, before, text, made_folder=not path.parent.exists())
                create_folder(path.parent, within=self._root)
                write_bytes(path, [text.encode()], within=self._root)
        return TextChange(str(path), text != before, text)

    def uninstall(self, client: str, *, dry_run: bool = False) -> TextChange:
        """Removes our hooks, and the file and its folder if we created them."""
        path, _ = self._of(client)
        create_local_folder(self._workspace.root)
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
        """Returns which hooks are installed and which are missing."""
        path, events = self._of(client)
        text = _read(path)
        installed = _our_events(_parsed(text, path)) if text and text.strip() else set()
        return HookStatus(
            str(path),
            tuple(event for event in events if event in installed),
            tuple(event for event in events if event not in installed),
        )

    def _of(self, client: str) -> tuple[Path, tuple[str, ...]]:
        if client not in CLIENTS:
            known = ", ".join(CLIENTS)
            raise SlicebaseError("unknown-client", f"there are no hooks for {client!r}", hint=f"clients are {known}")
        return inside(self._root, self._root / CLIENTS[client].settings), CLIENTS[client].events

    # The settings before our change

    def _all_kept(self) -> dict[str, _KeptSettings]:
        try:
            return _decoder.decode(read_bytes(self._kept, most=_LARGEST_KEPT))
        except (OSError, SlicebaseError, msgspec.MsgspecError):
            return {}

    def _keep(self, client: str, before: str | None, after: str, *, made_folder: bool) -> None:
        known = self._all_kept()
        earlier = known.get(client)
        if earlier is not None and earlier.after == before:  # installed again after our own change
            before, made_folder = earlier.before, earlier.made_folder
        known[client] = _KeptSettings(before, after, made_folder)
        write_bytes(self._kept, [_encoder.encode(known)], within=self._root, private=True)

    def _put_back(self, client: str, path: Path, now: str | None, text: str | None, kept: _KeptSettings | None) -> None:
        if text is None:
            remove(path, within=self._root)
            if kept is not None and kept.made_folder:
                remove_empty_folder(path.parent, within=self._root)
        elif text != now:
            write_bytes(path, [text.encode()], within=self._root)
        left = {name: each for name, each in self._all_kept().items() if name != client}
        if left:
            write_bytes(self._kept, [_encoder.encode(left)], within=self._root, private=True)
        else:
            remove(self._kept, within=self._root)


_SECONDS: Final = 10  # the time limit after which the client stops a hook


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
        raise _bad(path, "a hook cannot be added without a change to something else")
    return changed


def _without_hooks(text: str, path: Path) -> str:
    """Returns the settings without our commands, and without groups and keys that become empty."""
    while (steps := next(_our_paths(_parsed(text, path)), None)) is not None:
        text = without_item(text, steps[:-1], steps[-1])
        while len(steps) > 1 and not _at(_parsed(text, path), steps := steps[:-1]):
            text = without_item(text, steps[:-1], steps[-1])
    return text


def _our_paths(settings: dict[str, Any]) -> Iterator[tuple[str | int, ...]]:
    """Yields the paths of our commands."""
    for event, groups in settings.get("hooks", {}).items():
        for number, group in enumerate(groups):
            inner = group.get("hooks") if isinstance(group, dict) else None
            for index, hook in enumerate(inner if isinstance(inner, list) else []):
                if isinstance(hook, dict) and str(hook.get("command", "")).rstrip().endswith(MARK):
                    yield "hooks", event, number, "hooks", index


def _our_events(settings: dict[str, Any]) -> set[str]:
    return {str(path[1]) for path in _our_paths(settings)}


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    """Returns the value at a path; for a group of hooks its list, which decides whether the group is empty."""
    for step in path:
        value = value[step]
    return value.get("hooks") if isinstance(value, dict) and len(path) == 3 else value


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad(path, f"the settings are not JSON: {error}") from None
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise _bad(path, "the settings do not have the form that the client documents")
    return dict(settings)


def _read(path: Path) -> str | None:
    try:
        return decode(read_bytes(path, most=TEXT_FILE), name=str(path))
    except FileNotFoundError:
        return None


def _bad(path: Path, message: str) -> SlicebaseError:
    return SlicebaseError("bad-client-settings", message, hint="fix the file by hand", where=Where(str(path)))
