"""The files of the pages: HTML, style sheets and ES modules, with the headers that keep a browser strict.

There is no build step: a browser loads the modules as they are. Nothing is loaded from another host, and no text can
become markup or a script: the policy of the pages forbids both (CSP with trusted types).
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
}
_IMPORT_MAP: Final = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)
_VIEW: Final = re.compile(r"match: is\(([^)]*)\)")  # in the table of views, which is the only one


class PageFile(NamedTuple):
    """A file of the pages."""

    data: bytes
    media_type: str
    etag: str


@cache
def page_files() -> Mapping[str, PageFile]:
    """Returns every file of the pages, by its path below the folder."""
    found = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in _TYPES and path.is_file():
            data = path.read_bytes()
            etag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
            found[path.relative_to(FOLDER).as_posix()] = PageFile(data, _TYPES[path.suffix], etag)
    return found


@cache
def views() -> tuple[tuple[str, ...], ...]:
    """Returns the addresses of the views, as the pages know them: the parts of a path, `*` for any."""
    table = page_files()["views/table.js"].data.decode()
    return tuple(tuple(re.findall(r'"([^"]+)"', parts)) for parts in _VIEW.findall(table))


def is_view(path: str) -> bool:
    """Returns whether a view has this address, in which a `/` of a name is encoded."""
    parts = [part for part in path.partition("?")[0].split("/") if part]
    return any(
        len(parts) == len(view) and all(name in ("*", part) for name, part in zip(view, parts, strict=True))
        for view in views()
    )


@cache
def strict_headers() -> tuple[tuple[str, str], ...]:
    """Returns the headers of every answer."""
    return (
        ("content-security-policy", content_policy(page_files()["index.html"].data.decode())),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    )


def content_policy(page: str) -> str:
    """Returns the content security policy of a page: only its own files, and the one import map that is in it."""
    maps = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in _IMPORT_MAP.findall(page)]
    scripts = " ".join(["'self'", *(f"'sha256-{each}'" for each in maps)])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
