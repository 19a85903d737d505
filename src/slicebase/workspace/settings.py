"""Settings: `slicebase.toml` in the folder of the workspace.

Every key has a default, and an unknown key is an error. Setting a value changes one line of the file and nothing else:
comments, order and blank lines stay.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from slicebase.core.hashing import LARGEST_INTEGER
from slicebase.core.parsers import MOST_TOML, decode, read_all, read_json, read_toml
from slicebase.errors import SlicebaseError, Where
from slicebase.files.freshness import HALF_LIFE_DAYS
from slicebase.workspace.atomic import locked, write_bytes
from slicebase.workspace.boundary import inside, real_path
from slicebase.workspace.doors import VARIABLE, is_on
from slicebase.workspace.server import (
    URL_SETTING,
    URL_VARIABLE,
    checked_url,
    server_url,
    shown_url,
    user_folder,
)
from slicebase.workspace.workspace import SETTINGS, Workspace, create_local_folder

# One value in a TOML text
#
# These functions know tables, and plain keys with a value on one line. The caller parses the result again and compares.

# Possessive repetitions (`*+`) keep them linear: a file from elsewhere may have lines of many thousand spaces.

_TABLE: Final = re.compile(r"\s*+\[([^\[\]]++)\]\s*+(?:#.*)?$")
_ENTRY: Final = re.compile(
    r"""(?P<key>\s*+(?P<name>[\w.\-"][\w.\-" ]*+)\s*+=\s*+)"""
    r"""(?P<value>"(?:\\.|[^"\\])*"|'[^']*'|[^\s\#]+)(?P<rest>\s*+(?:\#.*)?)$"""
)


class _TomlLine(NamedTuple):
    table: str  # the table of the line; empty before the first table
    name: str  # the dotted name of the value that the line sets; empty where it sets none


def line_of(text: str, name: str) -> int | None:
    """Returns the number of the line that sets a value, counted from 1, or None."""
    return next((number for number, line in enumerate(_lines(text), 1) if line.name == name), None)


def with_value(text: str, name: str, literal: str) -> str:
    """Returns the text with this value: in the line that sets it, else in its table, else at the end."""
    lines = text.split("\n")
    end = "\r" if lines[0].endswith("\r") else ""
    known = _lines(text)
    at = line_of(text, name)
    if at is not None:
        match = _ENTRY.match(lines[at - 1])
        assert match is not None
        lines[at - 1] = f"{match['key']}{literal}{match['rest']}"
        return "\n".join(lines)
    table, _, key = name.rpartition(".")
    inside = [number for number, line in enumerate(known) if line.table == table and lines[number].strip()]
    if inside:
        lines.insert(inside[-1] + 1, f"{key} = {literal}{end}")
        return "\n".join(lines)
    if not table:  # before all tables
        return f"{key} = {literal}{end}\n{text}"
    before = text if not text or text.endswith("\n") else f"{text}{end}\n"
    empty = f"{end}\n" if before else ""
    return f"{before}{empty}[{table}]{end}\n{key} = {literal}{end}\n"


def without_value(text: str, name: str) -> str:
    """Returns the text without the line that sets a value."""
    at = line_of(text, name)
    lines = text.split("\n")
    return text if at is None else "\n".join(lines[: at - 1] + lines[at:])


def _lines(text: str) -> list[_TomlLine]:
    table, lines = "", []
    for line in text.split("\n"):
        name = ""
        if header := _TABLE.match(line):
            table = _plain(header[1])
        elif entry := _ENTRY.match(line):
            name = ".".join(part for part in (table, _plain(entry["name"])) if part)
        lines.append(_TomlLine(table, name))
    return lines


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))


# Settings


class Settings(NamedTuple):
    """The values of all settings."""

    overflow_bytes: int = 64 * 1024
    provenance_enabled: bool = False
    provenance_agent: str | None = None
    freshness_half_life_days: float = HALF_LIFE_DAYS
    context_semantic: bool = False
    hooks_tokens: int = 1500
    hooks_claude_code_tokens: int | None = None
    hooks_codex_tokens: int | None = None
    hooks_gemini_tokens: int | None = None
    hooks_opencode_tokens: int | None = None
    compaction_events: int = 18
    compaction_steps: int = 8
    redaction_enabled: bool = True
    redaction_rules: str | None = None
    url: str | None = None


class SettingKey(NamedTuple):
    """What is known about a setting: its field, its types, and what to show for it."""

    field: str
    types: tuple[type, ...]
    form: str
    about: str
    variable: str | None = None  # an environment variable, which takes precedence over the file
    is_path: bool = False  # whether it names a file of the workspace


SETTING_KEYS: Final[Mapping[str, SettingKey]] = {
    "overflow.bytes": SettingKey("overflow_bytes", (int,), "a positive number", "the size above which overflow acts"),
    "provenance.enabled": SettingKey(
        "provenance_enabled", (bool,), "true or false", "whether every write records who wrote, and where"
    ),
    "provenance.agent": SettingKey(
        "provenance_agent", (str,), "text", "who writes, if nothing else names the writer", "SLICEBASE_AGENT"
    ),
    "freshness.half_life_days": SettingKey(
        "freshness_half_life_days", (int, float), "a positive number", "the days after which a file is half stale"
    ),
    "context.semantic": SettingKey(
        "context_semantic", (bool,), "true or false", "whether contexts also use word vectors (slicebase[semantic])"
    ),
    "hooks.tokens": SettingKey(
        "hooks_tokens", (int,), "a positive number", "the most tokens that a hook shows to the agent"
    ),
    **{
        f"hooks.{client}.tokens": SettingKey(
            f"hooks_{client.replace('-', '_')}_tokens", (int,), "a positive number", f"the same for {client} alone"
        )
        for client in ("claude-code", "codex", "gemini", "opencode")
    },
    "compaction.events": SettingKey(
        "compaction_events", (int,), "a positive number", "the counted events after which a run is compacted"
    ),
    "compaction.steps": SettingKey(
        "compaction_steps", (int,), "a positive number", "the steps after which a run is compacted at the latest"
    ),
    "redaction.enabled": SettingKey(
        "redaction_enabled", (bool,), "true", "whether secrets are replaced in what is stored", VARIABLE
    ),
    "redaction.rules": SettingKey(
        "redaction_rules", (str,), "a path inside the workspace", "a file with further rules for secrets", is_path=True
    ),
    URL_SETTING: SettingKey(
        "url", (str,), "the address of a server", "where new memories are kept; only with --global", URL_VARIABLE
    ),
}


class Setting(NamedTuple):
    """The value of a setting, and where it comes from."""

    name: str
    value: Any
    source: str  # `default`, an environment variable, or the file with its line
    about: str


def load_settings(root: Path) -> Settings:
    """Reads the settings of the workspace at `root`. Raises `bad-setting` for a wrong key or value."""
    values, _ = _read(root)
    return Settings(**{SETTING_KEYS[name].field: value for name, value in values.items()})


def settings_with_sources(root: Path, environment: Mapping[str, str]) -> list[Setting]:
    """Returns every setting with its value and its source."""
    values, text = _read(root)
    settings = []
    for name, key in SETTING_KEYS.items():
        value, source = getattr(Settings(), key.field), "default"
        if name in values:
            value, source = values[name], f"{SETTINGS}:{line_of(text, name)}"
        if key.variable and environment.get(key.variable):
            value, source = environment[key.variable], key.variable
            value = is_on(environment) if bool in key.types else value
        if name == URL_SETTING and value is None and (own := server_url(environment)):
            value, source = own, str(Path(user_folder(environment), SETTINGS))  # it counts in every workspace
        value = shown_url(value) if name == URL_SETTING and value else value
        settings.append(Setting(name, value, source, key.about))
    return settings


def set_setting(workspace: Workspace, name: str, given: str | float | None) -> None:
    """Writes one setting into the file, or removes it (None). Everything else in the file stays as it is."""
    import json  # imported here, because most commands only read settings

    root = workspace.root
    create_local_folder(root)
    with locked(workspace.lock):
        _key(name)
        before, text = _read(root)
        value = _value_of(name, given) if given is not None else None
        wanted = {key: other for key, other in before.items() if key != name}
        if given is None:
            new = without_value(text, name)
        else:
            _check(name, value, None)
            _refuse_outside(root, name, value, None)
            wanted[name] = value
            new = with_value(text, name, json.dumps(value, ensure_ascii=False))
        if _values(new, root) != wanted:
            raise _bad(
                root / SETTINGS, f"{name} cannot be set without changing something else", f"edit {SETTINGS} by hand"
            )
        if new != text:
            private = URL_SETTING in wanted  # it can hold a password
            write_bytes(root / SETTINGS, [new.encode()], within=root, private=private)


def _read(root: Path) -> tuple[dict[str, Any], str]:
    path = root / SETTINGS
    real = inside(root, path)
    try:
        if not stat.S_ISREG(os.stat(real).st_mode):
            raise _bad(path, f"{SETTINGS} is not a regular file")
        with open(real, "rb") as stream:
            text = decode(read_all(stream, str(path), MOST_TOML), name=str(path))  # with the line ends that it has
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        raise _bad(path, f"{SETTINGS} cannot be read: {error.strerror}") from None
    except SlicebaseError as error:  # too large, or not UTF-8
        raise SlicebaseError("bad-setting", error.message, hint=error.hint, where=error.where) from None
    values = _values(text, root)
    for name, value in values.items():
        _check(name, value, root / SETTINGS)
        _refuse_outside(root, name, value, line_of(text, name))
    return values, text


def _values(text: str, root: Path) -> dict[str, Any]:
    try:
        return dict(_flat(read_toml(text, "bad-setting", SETTINGS)))
    except SlicebaseError as error:
        raise error.at(Where(str(root / SETTINGS))) from None


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every value with its dotted name."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _key(name: str, path: Path | None = None) -> SettingKey:
    if name not in SETTING_KEYS:
        raise _bad(path, f"there is no setting {name}", f"the settings are {', '.join(SETTING_KEYS)}")
    return SETTING_KEYS[name]


def _value_of(name: str, given: str | float) -> Any:
    """Returns a value, or what a text on the command line means for this setting."""
    key = _key(name)
    if str in key.types or not isinstance(given, str):
        return given
    try:
        return read_json(given)
    except SlicebaseError:
        return given  # not a value of the right type: `_check` reports it


def _check(name: str, value: Any, path: Path | None) -> None:
    key = _key(name, path)
    if name == "redaction.enabled" and value is False:  # the file may come with a repository (ruling 49)
        raise _bad(path, f"{SETTINGS} cannot turn redaction off", f"set {VARIABLE}=off, or pass --no-redact")
    if name == URL_SETTING and isinstance(value, str):
        checked_url(value, name)
    if type(value) not in key.types or not (isinstance(value, bool | str) or 0 < value <= LARGEST_INTEGER):
        raise _bad(path, f"{name} is {value!r}, not {key.form}")


def _refuse_outside(root: Path, name: str, value: Any, line: int | None) -> None:
    """Refuses a path that leads out of the workspace: the file comes with a repository, and is data (ruling 49)."""
    if name == URL_SETTING and real_path(root) != real_path(Path(user_folder())):
        message = f"{SETTINGS} of a workspace cannot name a server: it may come with a repository"
        raise SlicebaseError(
            "bad-setting",
            message,
            hint=f"set {URL_VARIABLE}, or {URL_SETTING} in the settings of your own workspace",
            where=Where(str(root / SETTINGS), line),
        )
    if not SETTING_KEYS[name].is_path:
        return
    try:
        inside(root, root / value)
    except (SlicebaseError, ValueError):  # ValueError: a path that nothing can have
        raise SlicebaseError(
            "bad-setting",
            f"{name} is {value!r}, which is outside the workspace",
            hint=f"name a file of the workspace, by its path from the folder of {SETTINGS}",
            where=Where(str(root / SETTINGS), line),
        ) from None


def _bad(path: Path | None, message: str, hint: str = "") -> SlicebaseError:
    return SlicebaseError("bad-setting", message, hint=hint, where=Where(str(path) if path else None))
