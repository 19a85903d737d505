"""Installs, finds and removes our hooks in the settings of coding agents, of a project or of the user.

The settings before the change are kept: if nobody has changed them since, removing the hooks restores them byte for
byte. Settings of the user are outside of every workspace: only commands that name this scope write them.
"""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.agents.agent_files import TextChange
from slicebase.agents.clients import CLIENTS, Client, HookScope, client_named
from slicebase.agents.hook_settings import MARK, bad_settings, hook_events, with_hooks, without_hooks
from slicebase.agents.opencode_plugin import PLUGIN_MARK, plugin_text
from slicebase.core.parsers import decode
from slicebase.errors import SlicebaseError
from slicebase.workspace.atomic import (
    TEXT_FILE,
    create_folder,
    locked,
    read_bytes,
    remove,
    remove_empty_folder,
    write_bytes,
)
from slicebase.workspace.boundary import inside, real_path
from slicebase.workspace.workspace import Workspace, create_local_folder

PROGRAM: Final = "tt"
_KEPT: Final = "hooks.json"
_LARGEST_KEPT: Final = 16 * TEXT_FILE  # bytes: settings before and after a change, escaped


class _KeptSettings(msgspec.Struct):
    """Settings before and after our change; `before` is None if there was no file."""

    before: str | None
    after: str
    made: int = 0  # folders that we created for it


_decoder = msgspec.json.Decoder(dict[str, _KeptSettings])
_encoder = msgspec.json.Encoder()


class HookStatus(NamedTuple):
    """The path of the settings, and the events whose hooks are installed or missing there."""

    client: str
    scope: HookScope
    path: str
    installed: tuple[str, ...]
    missing: tuple[str, ...]
    problem: str | None = None  # why the settings cannot be read

    @property
    def state(self) -> str:
        """`installed`, `partly`, `missing` or `unreadable`."""
        if self.problem:
            return "unreadable"
        return ("partly" if self.missing else "installed") if self.installed else "missing"

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "state": self.state}


class ClientHooks:
    """The hooks of a workspace's project."""

    scope = HookScope.PROJECT

    def __init__(self, workspace: Workspace) -> None:
        self._root = workspace.root
        self._lock = workspace.lock
        self._kept = workspace.local(_KEPT)

    # What the scopes have of their own

    def _path(self, client: Client) -> Path:
        """Returns where the settings are written, without symbolic links."""
        return inside(self._root, self._root / client.settings)

    def _within(self, path: Path) -> Path:
        """Returns the folder out of which no link may lead a write to this path."""
        return self._root

    def _prepare(self) -> None:
        create_local_folder(self._root)

    def _command(self, program: str, client: str, event: str) -> str:
        return f"{program} hook run {event} --client {client}"

    def _key(self, client: str, path: Path) -> str:
        """Returns the name under which the earlier settings are kept."""
        return client

    # Verbs

    def install(self, client: str, *, program: str = PROGRAM, dry_run: bool = False) -> TextChange:
        """Adds the hooks that are missing; everything else in the settings stays as it is."""
        about = client_named(client)
        path = self._path(about)
        if not dry_run:
            self._prepare()
        with nullcontext() if dry_run else locked(self._lock):
            before = _read(path)
            commands = {event: self._command(program, client, event) for event in about.events}
            text = _with(before, path, about, commands)
            if text != before and not dry_run:
                self._keep(client, path, before, text)
                create_folder(path.parent, within=self._within(path))
                write_bytes(path, [text.encode()], within=self._within(path))
        return TextChange(str(path), text != before, text)

    def uninstall(self, client: str, *, dry_run: bool = False) -> TextChange:
        """Removes our hooks, and the file and its folders if we created them."""
        about = client_named(client)
        path = self._path(about)
        if not dry_run:
            self._prepare()
        with nullcontext() if dry_run else locked(self._lock):
            now = _read(path)
            kept = self._all_kept()
            key = self._key(client, path)
            text = _original(now, path, about, kept.get(key))
            if not dry_run:
                self._put_back(path, now, text, kept.pop(key, None))
                self._write_kept(kept)
        return TextChange(str(path), text != now, text)

    def status(self, client: str) -> HookStatus:
        """Returns which hooks are installed and which are missing."""
        about = client_named(client)
        path = self._path(about)
        there = _events(_read(path), path, about)
        installed = tuple(event for event in about.events if event in there)
        missing = tuple(event for event in about.events if event not in there)
        return HookStatus(client, self.scope, str(path), installed, missing)

    def statuses(self) -> Iterator[HookStatus]:
        """Yields the status of every client. One whose settings cannot be read tells why."""
        for name, client in CLIENTS.items():
            try:
                yield self.status(name)
            except SlicebaseError as error:
                path = error.where.file or client.settings
                yield HookStatus(name, self.scope, path, (), tuple(client.events), str(error))

    def settings(self, client: str) -> Path:
        """Returns the file with the settings of a client, without symbolic links."""
        return self._path(client_named(client))

    def has(self, client: str, event: str) -> bool:
        """Returns whether the hook of an event is installed, as far as the settings can be read."""
        try:
            return event in self.status(client).installed
        except (OSError, SlicebaseError):
            return False

    def marked(self) -> Iterator[str]:
        """Yields the clients whose settings hold our mark, even if they cannot be read otherwise."""
        for name, client in CLIENTS.items():
            try:
                data = read_bytes(self._path(client), most=TEXT_FILE)
            except (OSError, SlicebaseError):  # nothing that we wrote
                continue
            if (PLUGIN_MARK if client.plugin else MARK).encode() in data:
                yield name

    # The settings before our change

    def _all_kept(self) -> dict[str, _KeptSettings]:
        try:
            return _decoder.decode(read_bytes(self._kept, most=_LARGEST_KEPT))
        except (OSError, SlicebaseError, msgspec.MsgspecError):
            return {}

    def _keep(self, client: str, path: Path, before: str | None, after: str) -> None:
        known, key = self._all_kept(), self._key(client, path)
        earlier = known.get(key)
        made = sum(not folder.exists() for folder in path.parents) or (earlier.made if earlier else 0)
        known[key] = _KeptSettings(_original(before, path, client_named(client), earlier), after, made)
        self._write_kept(known)

    def _write_kept(self, known: dict[str, _KeptSettings]) -> None:
        if known:
            write_bytes(self._kept, [_encoder.encode(known)], within=self._within(self._kept), private=True)
        else:
            remove(self._kept, within=self._within(self._kept))

    def _put_back(self, path: Path, now: str | None, text: str | None, kept: _KeptSettings | None) -> None:
        if text is None:
            remove(path, within=self._within(path))
            for folder in path.parents[: kept.made if kept else 0]:
                remove_empty_folder(folder, within=self._within(folder))
        elif text != now:
            write_bytes(path, [text.encode()], within=self._within(path))


_STATE: Final = ".local/state"  # below the home, unless XDG_STATE_HOME names another folder


class UserHooks(ClientHooks):
    """The hooks of the user, which run in every project. `variables` is like `os.environ`."""

    scope = HookScope.USER

    def __init__(self, home: Path, variables: Mapping[str, str]) -> None:
        self._home, self._variables = home, variables
        self._folder = real_path(Path(variables.get("XDG_STATE_HOME") or home / _STATE, "slicebase"))
        self._lock = self._folder / "lock"
        self._kept = self._folder / _KEPT

    def _path(self, client: Client) -> Path:
        # A link here was made by the user, often to a folder with all settings: its target is what the command names.
        return real_path(client.user.path(self._home, self._variables))

    def _within(self, path: Path) -> Path:
        return next(folder for folder in path.parents if folder.is_dir())

    def _prepare(self) -> None:
        create_folder(self._folder, within=self._folder)

    def _command(self, program: str, client: str, event: str) -> str:
        return f"{super()._command(program, client, event)} --scope {self.scope}"

    def _key(self, client: str, path: Path) -> str:
        return f"{client} {path}"  # a variable may name another folder the next time


# The text of settings, in the form of the client


def _with(text: str | None, path: Path, client: Client, commands: dict[str, str]) -> str:
    if not client.plugin:
        return with_hooks(text, path, client, {event: f"{command} {MARK}" for event, command in commands.items()})
    if text and not text.startswith(PLUGIN_MARK):
        raise bad_settings(path, "the file is not ours")
    return plugin_text(commands, client.time_limit(""))


def _original(now: str | None, path: Path, client: Client, kept: _KeptSettings | None) -> str | None:
    """Returns the settings without us: as they were, if nobody changed them since, else what is left of them."""
    if kept is not None and now == kept.after:
        return kept.before
    text = _without(now, path, client)
    created = kept is not None and kept.before is None
    return None if created and text is not None and text.strip() == "{}" else text


def _without(text: str | None, path: Path, client: Client) -> str | None:
    if text is None or not client.plugin:
        return without_hooks(text, path, client) if text and text.strip() else text
    return None if text.startswith(PLUGIN_MARK) else text


def _events(text: str | None, path: Path, client: Client) -> set[str]:
    if not client.plugin:
        return hook_events(text, path, client)
    return set(client.events) if text and text.startswith(PLUGIN_MARK) else set()


def _read(path: Path) -> str | None:
    try:
        return decode(read_bytes(path, most=TEXT_FILE), name=str(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
