"""Errors as HTTP answers: problem details (RFC 9457) with our codes."""

from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from slicebase.errors import Exit, SlicebaseError, printable

MEDIA_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = 2


class Problem(Struct, frozen=True):
    """What went wrong (RFC 9457), with the code, the hint and the place of our errors."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str
    where: dict[str, Any] | None = None


_STATUS: Final[Mapping[Exit, HTTPStatus]] = {
    Exit.USAGE: HTTPStatus.BAD_REQUEST,
    Exit.REFUSED: HTTPStatus.UNPROCESSABLE_ENTITY,
    Exit.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Exit.CONFLICT: HTTPStatus.CONFLICT,
}
# The database, the disk or a setting is at fault, not the request: the same request can work later.
UNAVAILABLE: Final = frozenset(
    {
        "locked", "database-lost", "database-damaged", "not-our-database", "no-database", "no-workspace", "no-memory",
        "disk-full", "cannot-write", "cannot-read", "server-busy", "index-building", "broken-record",
        "database-newer", "database-not-ours", "two-databases", "no-repository", "no-server",
        "bad-setting",
    }
)  # fmt: skip
_OF_A_CODE: Final[Mapping[str, HTTPStatus]] = {
    "bad-json": HTTPStatus.BAD_REQUEST,
    "bad-cursor": HTTPStatus.BAD_REQUEST,
    "purged": HTTPStatus.GONE,
    "no-admission": HTTPStatus.UNAUTHORIZED,
    "other-origin": HTTPStatus.FORBIDDEN,
    "request-size": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "request-slow": HTTPStatus.REQUEST_TIMEOUT,
    "server-failed": HTTPStatus.INTERNAL_SERVER_ERROR,
    "wrong-method": HTTPStatus.METHOD_NOT_ALLOWED,
    "wrong-media-type": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}


MAY_BE_STORED: Final = "what was to be written may be stored: look before you send it again"


class WrongMethodError(SlicebaseError):
    """An address that exists does not know the method."""

    def __init__(self, allowed: str) -> None:
        super().__init__("wrong-method", "this method is not allowed here", hint=f"use {allowed}")
        self.allowed = allowed


def status_of(error: SlicebaseError) -> HTTPStatus:
    """Returns the HTTP status of an error."""
    if error.code in UNAVAILABLE:
        return HTTPStatus.SERVICE_UNAVAILABLE
    return _OF_A_CODE.get(error.code) or _STATUS.get(error.exit, HTTPStatus.INTERNAL_SERVER_ERROR)


def problem_of(error: SlicebaseError) -> Problem:
    """Returns an error as problem details."""
    status, where = status_of(error), error.where
    return Problem(
        f"urn:slicebase:error:{error.code}",
        status.phrase,
        status,
        error.message,
        error.code,
        printable(error.hint),
        where._replace(file=where.file and printable(where.file))._asdict() if any(where) else None,
    )


def answer_to(error: SlicebaseError) -> tuple[HTTPStatus, bytes, dict[str, str]]:
    """Returns the status, the body and the headers of the answer to a request that failed."""
    status = status_of(error)
    headers = {"content-type": MEDIA_TYPE, "cache-control": "no-store"}
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        headers["retry-after"] = str(RETRY_SECONDS)
    if status is HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, WrongMethodError):
        headers["allow"] = error.allowed
    return status, msgspec.json.encode(problem_of(error)), headers


_BUG: Final = "this is a bug of Slicebase: please report it, with its version"


def bug(cause: Exception | str) -> SlicebaseError:
    """Returns the error for a bug of ours."""
    return SlicebaseError("server-failed", cause if isinstance(cause, str) else _place_of(cause), hint=_BUG)


def _place_of(error: Exception) -> str:
    """Returns where an error was raised, never a value: that could be anybody's text."""
    place = error.__traceback__
    while place and place.tb_next:
        place = place.tb_next
    where = f"{Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else "an unknown place"
    return f"{type(error).__name__} at {where}"
