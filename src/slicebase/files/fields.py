"""Reading the fields of a frontmatter by the types that the specification gives them."""

from collections.abc import Mapping
from typing import Any, Protocol

KeyPath = str | tuple[str, ...]


def steps(path: KeyPath) -> tuple[str, ...]:
    """A key path as its steps: `slice.links.0.to`; a tuple where a key holds a dot."""
    return tuple(path.split(".")) if isinstance(path, str) else path


_ABSENT: Mapping[str, Any] = {}  # a key that is not there reads like one of another shape


class HasSourceText(Protocol):
    """What can say how a scalar is written."""

    def source_text(self, path: KeyPath) -> str | None: ...


class Fields:
    """A mapping of the frontmatter, read with the types that the specification gives its keys.

    A field that is absent or of another shape reads as None: `tt validate` reports it.
    """

    values: Mapping[str, Any]

    def __init__(self, file: HasSourceText, path: tuple[str, ...], value: Any) -> None:
        self._file = file
        self._path = path
        self.values = value if isinstance(value, dict) else {}

    def fields(self, key: str) -> "Fields":
        return Fields(self._file, (*self._path, key), self.values.get(key))

    def items(self, key: str) -> "list[Fields]":
        found = self.values.get(key)
        items = found if isinstance(found, list) else []
        return [Fields(self._file, (*self._path, key, str(at)), item) for at, item in enumerate(items)]

    def text(self, key: str) -> str | None:
        return self._text(self.values.get(key, _ABSENT), key)

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts of a list; a single text counts as a list of one."""
        found = self.values.get(key)
        if not isinstance(found, list):
            text = self.text(key)
            return () if text is None else (text,)
        texts = (self._text(item, key, str(at)) for at, item in enumerate(found))
        return tuple(text for text in texts if text is not None)

    def whole(self, key: str) -> int | None:
        found = self.values.get(key)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def flag(self, key: str) -> bool | None:
        found = self.values.get(key)
        return found if isinstance(found, bool) else None

    def _text(self, value: Any, *path: str) -> str | None:
        """Text is text whatever YAML would make of it (ruling 21)."""
        if isinstance(value, str):
            return value
        if isinstance(value, dict | list):
            return None
        return self._file.source_text((*self._path, *path))
