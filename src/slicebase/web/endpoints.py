"""What an endpoint of the API is: a method, a path, typed parameters, one verb, and a typed answer.

The parameters are a struct: its fields come from the path and the query, and of a POST from the JSON body. The same
types are the OpenAPI document (`web/openapi.py`).
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, Protocol, TypeVar, get_type_hints

import msgspec
from msgspec import Meta, Struct

from slicebase.core.parsers import read_json
from slicebase.errors import SlicebaseError
from slicebase.workspace.doors import Redaction

if TYPE_CHECKING:
    from slicebase.base import Slicebase

Method = Literal["GET", "POST"]
PREFIX: Final = "/api/v1"
_DIGITS: Final = 15  # of a number in a cursor
_LIST_BYTES: Final = 6  # of a cursor, which name its list
LONGEST_PARAMETER: Final = 100_000  # characters of a parameter
LONGEST_URL: Final = 16 * 1024  # bytes of an address, without what names the server
_ARGUMENTS: Final = Redaction(Path(), lambda: None)  # an error may repeat a parameter


class Parameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of an endpoint."""


class Nothing(Parameters, frozen=True):
    """An endpoint without parameters."""


PageLimit = Annotated[int, Meta(ge=1, le=500, description="The maximum number of entries.")]
PageCursor = Annotated[str, Meta(max_length=1000, description="`next` of the page before; empty for the first page.")]
Text = Annotated[str, Meta(max_length=LONGEST_PARAMETER)]  # in a body
_IN_ADDRESS: Final = f"The address has at most {LONGEST_URL:,} bytes."
AddressText = Annotated[str, Meta(max_length=16_000, description=_IN_ADDRESS)]
Name = Annotated[str, Meta(min_length=1, max_length=1000, description="An id, a short id or a reference.")]


class Paged(Parameters, frozen=True, kw_only=True):
    """The parameters of a list that is read page by page."""

    limit: PageLimit = 50
    cursor: PageCursor = ""


class Raw(NamedTuple):
    """An answer that is bytes already: the bytes whose digest was taken."""

    data: bytes
    headers: Mapping[str, str] = {}
    media_type: str = "application/json"


class Endpoint(NamedTuple):
    """One endpoint of the API."""

    method: Method
    path: str  # below PREFIX, with the names of fields in braces
    verb: str  # the attribute of Slicebase that it calls
    call: "Callable[[Slicebase, Any], Any]"
    asked: type[Parameters]
    answer: Any  # a struct; Raw if it is bytes
    summary: str
    writes: bool = False
    is_long: bool = False  # it has the time and the places of long verbs
    now: "Callable[[Slicebase, Any], Any] | None" = None  # the same where nothing can block; None where it might

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields that are in the path."""
        return tuple(part[1:-1].removesuffix(":path") for part in self.path.split("/") if part.startswith("{"))

    def read(self, in_path: Mapping[str, str], query: Iterable[tuple[str, str]], body: bytes | None) -> Parameters:
        """Returns the parameters of a request. Raises `bad-arguments` for those that do not fit."""
        values: dict[str, Any] = {} if body is None else _object(body)
        fields = list(query)
        if body is not None and fields:
            raise SlicebaseError("bad-arguments", "what writes has its parameters in its body, not in its address")
        for name, value in (*fields, *in_path.items()):
            if name in values:
                raise SlicebaseError("bad-arguments", f"{name} is given twice")
            values[name] = value
        try:
            return msgspec.convert(values, self.asked, strict=body is not None)
        except msgspec.ValidationError as error:
            hint = "`/api/v1/openapi.json` describes the parameters"
            raise _ARGUMENTS.error(SlicebaseError("bad-arguments", str(error), hint=hint)) from None


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise SlicebaseError("bad-json", _why_no_object(body, error)) from None
    try:
        read_json(body, what="the body", unique=True)  # of two equal keys, the other reader takes the last
    except SlicebaseError as error:
        raise _ARGUMENTS.error(error) from None
    return found


_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")  # of a character, written as an escape


def _why_no_object(body: bytes, error: Exception) -> str:
    if not body.strip():
        return "the body is empty"
    if _HALF.search(body) and _is_json(body):  # the reader calls that truncated
        return "the body is no JSON object: a text has a part of a character (a surrogate alone)"
    return f"the body is no JSON object: {error}"


def _is_json(body: bytes) -> bool:
    try:
        return isinstance(read_json(body), dict)
    except SlicebaseError:
        return False


def get(
    path: str,
    verb: str,
    call: "Callable[[Slicebase, Any], Any]",
    *,
    now: "Callable[[Slicebase, Any], Any] | None" = None,
    is_long: bool = False,
) -> Endpoint:
    """Returns an endpoint that reads, with the types of a function and the first line of its docstring.

    `now` returns the same answer without waiting for anything, or None: then `call` is called, in a thread.
    """
    return _endpoint("GET", path, verb, call)._replace(now=now, is_long=is_long)


def post(path: str, verb: str, call: "Callable[[Slicebase, Any], Any]", *, writes: bool = True) -> Endpoint:
    """Returns an endpoint that writes; it exists only where the server may write."""
    return _endpoint("POST", path, verb, call)._replace(writes=writes)


def _endpoint(method: Method, path: str, verb: str, call: "Callable[[Slicebase, Any], Any]") -> Endpoint:
    from slicebase.base import Slicebase

    hints = get_type_hints(call, localns={"Slicebase": Slicebase}, include_extras=True)
    summary = (call.__doc__ or "").partition("\n")[0]
    return Endpoint(method, path, verb, call, hints["asked"], hints["return"], summary)


# Pages

_Item = TypeVar("_Item")


class Window(NamedTuple):
    """A part of a list, and the cursor of the next part; None where there is none."""

    items: Sequence[Any]
    next: str | None


class _AsksForPage(Protocol):
    """The parameters of a list, with or without filters."""

    @property
    def limit(self) -> int: ...

    @property
    def cursor(self) -> str: ...


def window(items: Sequence[_Item], asked: _AsksForPage, name_of: Callable[[_Item], str]) -> Window:
    """Returns the page of a list that a cursor asks for. The list may have grown in front since the last page.

    A cursor is the name of the last entry that was seen. Raises `bad-cursor` if that is not in the list.
    """
    first, last = 0, read_cursor(asked)
    if last is not None:
        found = next((place for place, item in enumerate(items) if name_of(item) == last), None)
        if found is None:
            raise SlicebaseError("bad-cursor", "the list has no such place any more", hint="begin without a cursor")
        first = found + 1
    shown = items[first : first + asked.limit]
    return Window(shown, cursor_of(asked, name_of(shown[-1])) if first + len(shown) < len(items) else None)


def cursor_of(asked: _AsksForPage, name: str) -> str:
    """Returns the cursor after an entry of the list that was asked for."""
    return base64.urlsafe_b64encode(_list_of(asked) + name.encode()).decode().rstrip("=")


def read_cursor(asked: _AsksForPage) -> str | None:
    """Returns the name of the entry that a cursor is after; None for the first page.

    Raises `bad-cursor` for one of another list: it would silently leave entries out.
    """
    if not asked.cursor:
        return None
    try:
        data = base64.b64decode(asked.cursor + "=" * (-len(asked.cursor) % 4), b"-_", validate=True)
        name = data[_LIST_BYTES:].decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise no_cursor() from None
    if data[:_LIST_BYTES] != _list_of(asked):
        raise no_cursor()
    return name


def read_number(asked: _AsksForPage) -> int | None:
    """Returns the number of the entry that a cursor is after, in a list by numbers; None for the first page."""
    text = read_cursor(asked)
    if text is not None and not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise no_cursor()
    return None if text is None else int(text)


def no_cursor() -> SlicebaseError:
    """Returns the error for a text that is no cursor of the list."""
    return SlicebaseError("bad-cursor", "this is no cursor of this list", hint="take `next` of the page before")


def _list_of(asked: _AsksForPage) -> bytes:
    """Returns a digest of what makes up a list: all parameters but those of the page."""
    fields = {name: value for name, value in msgspec.to_builtins(asked).items() if name not in ("limit", "cursor")}
    named = msgspec.json.encode([type(asked).__name__, fields], order="sorted")
    return hashlib.sha256(named).digest()[:_LIST_BYTES]
