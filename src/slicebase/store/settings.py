"""Settings: `slicebase.toml` in the workspace's folder. Every key has a default, and an unknown one is refused."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct

from slicebase.errors import SlicebaseError, Where
from slicebase.files.freshness import HALF_LIFE_DAYS
from slicebase.store.workspace import SETTINGS


class Settings(Struct, frozen=True):
    overflow_bytes: int = 64 * 1024
    provenance_enabled: bool = False
    provenance_agent: str | None = None
    freshness_half_life_days: float = HALF_LIFE_DAYS


class Key(NamedTuple):
    field: str
    types: tuple[type, ...]
    form: str
    about: str


KEYS: Final[Mapping[str, Key]] = {
    "overflow.bytes": Key("overflow_bytes", (int,), "a positive number", "the size above which overflow acts"),
    "provenance.enabled": Key("provenance_enabled", (bool,), "true or false", "whether every write says who wrote"),
    "provenance.agent": Key("provenance_agent", (str,), "text", "who writes, where nothing else says it"),
    "freshness.half_life_days": Key(
        "freshness_half_life_days", (int, float), "a positive number", "the days after which a file is half stale"
    ),
}


def load_settings(root: Path) -> Settings:
    path = root / SETTINGS
    if not path.exists():
        return Settings()
    import tomllib

    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SlicebaseError("bad-setting", f"{SETTINGS} cannot be read: {error}", where=Where(str(path))) from None
    values = dict(_flat(given))
    for name, value in values.items():
        _check(name, value, path)
    return Settings(**{KEYS[name].field: value for name, value in values.items()})


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted name."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _check(name: str, value: Any, path: Path) -> None:
    key = KEYS.get(name)
    if key is None:
        hint = f"settings are {', '.join(KEYS)}"
        raise SlicebaseError("bad-setting", f"there is no setting {name}", hint=hint, where=Where(str(path)))
    fits = type(value) in key.types and (isinstance(value, bool | str) or value > 0)
    if not fits:
        raise SlicebaseError("bad-setting", f"{name} is {value!r}, not {key.form}", where=Where(str(path)))
