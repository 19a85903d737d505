"""Our hooks in the text of a client's settings, which is JSON: added, found, and removed.

A hook is known by the comment at the end of its command, which the shell ignores. Nothing else in the text changes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from slicebase.agents.clients import Client
from slicebase.agents.json_text import JsonText, MemberStep
from slicebase.errors import SlicebaseError, Where

MARK: Final = "# slicebase"
_BOM: Final = "\ufeff"


def with_hooks(text: str | None, path: Path, client: Client, commands: dict[str, str]) -> str:
    """Returns the settings with the commands that are missing, by event."""
    mark = _BOM if text and text.startswith(_BOM) else ""
    bare = text.removeprefix(_BOM) if text and text.removeprefix(_BOM).strip() else "{}\n"
    there = hook_events(bare, path, client)
    for event, command in commands.items():
        if event not in there:
            entry = {"type": "command", "command": command, "timeout": client.time_limit(event)}
            bare = _with_hook(bare, path, client, event, {"hooks": [entry]})
    return mark + bare


def without_hooks(text: str, path: Path, client: Client) -> str:
    """Returns the settings without our commands, and without groups and keys that become empty."""
    mark = _BOM if text.startswith(_BOM) else ""
    bare = text.removeprefix(_BOM)
    while (steps := next(_our_paths(_parsed(bare, path, client)), None)) is not None:
        bare = JsonText(bare, client.comments).without_item(steps[:-1], steps[-1])
        while len(steps) > 1 and not _at(_parsed(bare, path, client), steps := steps[:-1]):
            bare = JsonText(bare, client.comments).without_item(steps[:-1], steps[-1])
    return mark + bare


def hook_events(text: str | None, path: Path, client: Client) -> set[str]:
    """Returns the events for which the settings have a command of ours."""
    bare = (text or "").removeprefix(_BOM)
    return {str(steps[1]) for steps in _our_paths(_parsed(bare, path, client))} if bare.strip() else set()


def _with_hook(text: str, path: Path, client: Client, event: str, hook: dict[str, Any]) -> str:
    json_text = JsonText(text, client.comments)
    if json_text.find("hooks") is None:
        changed = json_text.with_item((), {event: [hook]}, "hooks")
    elif json_text.find("hooks", event) is None:
        changed = json_text.with_item(("hooks",), [hook], event)
    else:
        changed = json_text.with_item(("hooks", event), hook)
    wanted = _parsed(text, path, client)
    wanted.setdefault("hooks", {}).setdefault(event, []).append(hook)
    if _parsed(changed, path, client) != wanted:
        raise bad_settings(path, "a hook cannot be added without a change to something else")
    return changed


def _our_paths(settings: dict[str, Any]) -> Iterator[tuple[MemberStep, ...]]:
    """Yields the paths of our commands."""
    for event, groups in settings.get("hooks", {}).items():
        for number, group in enumerate(groups if isinstance(groups, list) else []):
            inner = group.get("hooks") if isinstance(group, dict) else None
            for index, hook in enumerate(inner if isinstance(inner, list) else []):
                if isinstance(hook, dict) and str(hook.get("command", "")).rstrip().endswith(MARK):
                    yield "hooks", event, number, "hooks", index


def _at(value: Any, path: tuple[MemberStep, ...]) -> Any:
    """Returns the value at a path; for a group of hooks its list, which decides whether the group is empty."""
    for step in path:
        value = value[step]
    return value.get("hooks") if isinstance(value, dict) and len(path) == 3 else value


def _parsed(text: str, path: Path, client: Client) -> dict[str, Any]:
    try:
        settings = json.loads(JsonText(text, client.comments).shape)
    except (ValueError, RecursionError) as error:
        raise bad_settings(path, f"the settings are not JSON: {error}") from None
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(hooks.get(event, []), list) for event in client.events):
        raise bad_settings(path, "the settings do not have the form that the client documents")
    return dict(settings)


def bad_settings(path: Path, message: str) -> SlicebaseError:
    """Returns the error for settings that cannot be changed safely."""
    return SlicebaseError("bad-client-settings", message, hint="fix the file by hand", where=Where(str(path)))
