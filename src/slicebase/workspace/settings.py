"""Changing one value in a TOML text, and nothing else: comments, order and blank lines stay.

It knows tables and plain keys with values on one line, as settings have. Whoever calls it reads the result again and
compares what it says.

Settings: `slicebase.toml` in the workspace's folder. Every key has a default, and an unknown one is refused.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.files.freshness import HALF_LIFE_DAYS
from slicebase.workspace.workspace import SETTINGS, Workspace, make_local_folder

_TABLE: Final = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_ENTRY: Final = re.compile(
    r"""(?P<key>\s*(?P<name>[\w.\-" ]+?)\s*=\s*)(?P<value>"(?:\\.|[^"\\])*"|'[^']*'|[^\s\#]+)(?P<rest>\s*(?:\#.*)?)$"""
)


class _TomlLine(NamedTuple):
    table: str  # the table that the line stands in; empty before the first
    name: str  # the dotted name of the value that it sets; empty where it sets none


def line_of(text: str, name: str) -> int | None:
    """The number of the line that sets a value, from 1."""
    return next((number for number, line in enumerate(_lines(text), 1) if line.name == name), None)


def with_value(text: str, name: str, literal: str) -> str:
    """The text with this value, in the line that has it, else in its table, else at the end."""
    lines = text.split("\n")
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
        lines.insert(inside[-1] + 1, f"{key} = {literal}")
        return "\n".join(lines)
    before = text if not text or text.endswith("\n") else text + "\n"
    return f"{before}{chr(10) if before else ''}[{table}]\n{key} = {literal}\n"


def without_value(text: str, name: str) -> str:
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


class Settings(NamedTuple):
    overflow_bytes: int = 64 * 1024
    provenance_enabled: bool = False
    provenance_agent: str | None = None
    freshness_half_life_days: float = HALF_LIFE_DAYS
    hooks_tokens: int = 1500
    compaction_events: int = 18
    compaction_steps: int = 8


class Key(NamedTuple):
    field: str
    types: tuple[type, ...]
    form: str
    about: str
    variable: str | None = None  # of the environment, which wins over the file


KEYS: Final[Mapping[str, Key]] = {
    "overflow.bytes": Key("overflow_bytes", (int,), "a positive number", "the size above which overflow acts"),
    "provenance.enabled": Key("provenance_enabled", (bool,), "true or false", "whether every write says who wrote"),
    "provenance.agent": Key(
        "provenance_agent", (str,), "text", "who writes, where nothing else says it", "SLICEBASE_AGENT"
    ),
    "freshness.half_life_days": Key(
        "freshness_half_life_days", (int, float), "a positive number", "the days after which a file is half stale"
    ),
    "hooks.tokens": Key("hooks_tokens", (int,), "a positive number", "the most that a hook puts before the agent"),
    "compaction.events": Key(
        "compaction_events", (int,), "a positive number", "the counted events after which a run is compacted"
    ),
    "compaction.steps": Key(
        "compaction_steps", (int,), "a positive number", "the steps after which it is, at the latest"
    ),
}


class Setting(NamedTuple):
    """A setting as it holds, and where it comes from."""

    name: str
    value: Any
    source: str  # `default`, a variable of the environment, or the file with its line
    about: str


def load_settings(root: Path) -> Settings:
    values, _ = _read(root)
    return Settings(**{KEYS[name].field: value for name, value in values.items()})


def settings_with_sources(root: Path, environment: Mapping[str, str]) -> list[Setting]:
    """Every setting with its value and source."""

    values, text = _read(root)
    told = []
    for name, key in KEYS.items():
        value, source = getattr(Settings(), key.field), "default"
        if name in values:
            value, source = values[name], f"{SETTINGS}:{line_of(text, name)}"
        if key.variable and environment.get(key.variable):
            value, source = environment[key.variable], key.variable
        told.append(Setting(name, value, source, key.about))
    return told


def set_setting(workspace: Workspace, name: str, given: str | None) -> None:
    """Writes one setting into the file, or takes it out; everything else in the file stays as it is."""
    import json

    from slicebase.workspace.atomic import locked, write_bytes

    root = workspace.root
    make_local_folder(root)
    with locked(workspace.lock):
        before, text = _read(root)
        value = _value_of(name, given) if given is not None else None
        wanted = {key: other for key, other in before.items() if key != name}
        if given is None:
            new = without_value(text, name)
        else:
            _check(name, value, None)
            wanted[name] = value
            new = with_value(text, name, json.dumps(value, ensure_ascii=False))
        if _values(new, root) != wanted:
            raise _bad(root / SETTINGS, f"{name} cannot be set without touching something else", "edit it by hand")
        if new != text:
            write_bytes(root / SETTINGS, [new.encode()])


def _read(root: Path) -> tuple[dict[str, Any], str]:
    try:
        text = (root / SETTINGS).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, ""
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(root / SETTINGS, f"{SETTINGS} cannot be read: {error}") from None
    values = _values(text, root)
    for name, value in values.items():
        _check(name, value, root / SETTINGS)
    return values, text


def _values(text: str, root: Path) -> dict[str, Any]:
    import tomllib  # most workspaces have no settings of their own

    try:
        return dict(_flat(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        raise _bad(root / SETTINGS, f"{SETTINGS} cannot be read: {error}") from None


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted name."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _key(name: str, path: Path | None = None) -> Key:
    if name not in KEYS:
        raise _bad(path, f"there is no setting {name}", f"settings are {', '.join(KEYS)}")
    return KEYS[name]


def _value_of(name: str, given: str) -> Any:
    """What a text on the command line means for this setting."""
    import json

    key = _key(name)
    if str in key.types:
        return given
    try:
        return json.loads(given)
    except ValueError:
        return given  # it is of no use, and the check says so


def _check(name: str, value: Any, path: Path | None) -> None:
    key = _key(name, path)
    if type(value) not in key.types or not (isinstance(value, bool | str) or value > 0):
        raise _bad(path, f"{name} is {value!r}, not {key.form}")


def _bad(path: Path | None, message: str, hint: str = "") -> SlicebaseError:
    return SlicebaseError("bad-setting", message, hint=hint, where=Where(str(path) if path else None))
