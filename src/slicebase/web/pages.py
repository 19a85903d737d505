"""The files of the pages: HTML, style sheets and ES modules, with the headers that keep a browser strict.

There is no build step: a browser loads the modules as they are. The page names all of them, so that none waits for
another, and by the digest of the whole, so that a browser asks for each once. Nothing is loaded from another host, and
no text can become markup or a script: the policy of the pages forbids both (CSP with trusted types).
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
_PREFIX: Final = "/static/"
_FOREVER: Final = "max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"
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
def front_page() -> bytes:
    """Returns the one page of the application, which names its files by the digest of all of them."""
    modules = [path for path in page_files() if path.endswith((".js", ".mjs"))]
    links = "".join(f'<link rel="modulepreload" href="{_PREFIX}{path}">\n    ' for path in modules)
    page = page_files()["index.html"].data.decode().replace('<script type="module"', f'{links}<script type="module"')
    return page.replace(_PREFIX, f"{_PREFIX}{digest_of_all()}/").encode()


@cache
def digest_of_all() -> str:
    """Returns the digest of all files of the pages: files of two versions are never in one page."""
    etags = "".join(f"{path} {file.etag}\n" for path, file in page_files().items())
    return hashlib.sha256(etags.encode()).hexdigest()[:16]


def static_file(path: str) -> tuple[PageFile, str] | None:
    """Returns a file by its path below `/static/`, and for how long a browser may keep it; None if there is none."""
    version, _, rest = path.partition("/")
    if version == digest_of_all():
        path, keep = rest, _FOREVER
    else:
        keep = _ASK_AGAIN
    file = page_files().get(path)
    return None if file is None else (file, keep)


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
        ("content-security-policy", content_policy(front_page().decode())),
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
