"""Artefacts that a text names: branches, commits, pull requests, issues, comments, URLs (docs/lost.md)."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class Artefact(NamedTuple):
    """An artefact with the words that name it, and its span in the text."""

    what: str
    text: str
    names: tuple[str, ...]
    start: int
    end: int


_BRANCH: Final = re.compile(
    r"(?:^On branch |^Switched to (?:a new )?branch '|^\* |set up to track '(?:origin/)?)([\w./#-]{3,100})",
    re.MULTILINE,
)
_COMMITTED: Final = re.compile(r"^\[([\w./#-]+)(?: \([\w-]+\))? ([0-9a-f]{7,40})\] (.{1,150})$", re.MULTILINE)
_LOGGED: Final = re.compile(r"^([0-9a-f]{7,12}) (?:\([^)]*\) )?(.{3,150})$", re.MULTILINE)
_URL: Final = re.compile(r"https?://[^\s<>\"'`)\]|]{8,300}")
_PULL: Final = re.compile(
    r"https?://[^\s<>\"'`)\]|]+/(?:pull|pulls|merge_requests|issues?|browse)/[\w-]+[^\s<>\"'`)\]|]*"
)
_COMMENT: Final = re.compile(r"[^\n]{0,60}\bid:? ?`?(\d{6,})`?[^\n]{0,120}")
_NOTHING: Final = re.compile(r"example\.(?:com|org)|localhost|127\.0\.0\.1|schemas?\.|w3\.org")


def artefacts_in(text: str, command: str = "") -> Iterator[Artefact]:
    """Yields the artefacts that a text names; of a command's output, also the branches and commits of git."""
    if command:
        yield from _of_git(text, command)
    for match in _URL.finditer(text) if not command or command.startswith(("gh", "glab", "git push")) else ():
        url = match[0].rstrip(".,;:*_")
        if not _NOTHING.search(url):
            what = "pull request or issue" if _PULL.match(url) else "url"
            yield Artefact(what, url, (url,), match.start(), match.start() + len(url))
    for match in _COMMENT.finditer(text) if not command else ():
        yield Artefact("id", " ".join(match[0].split()), (match[1],), match.start(), match.end())


def _of_git(text: str, command: str) -> Iterator[Artefact]:
    for match in _COMMITTED.finditer(text):
        yield Artefact("commit", match[0], (match[2][:7],), match.start(), match.end())
    if re.search(r"\bgit (?:status|branch|checkout|switch|push)\b", command):
        for match in _BRANCH.finditer(text):
            yield Artefact("branch", match[0], (match[1],), match.start(), match.end())
    if "--show-current" in command and len(text.split()) == 1:
        name = text.strip()
        yield Artefact("branch", name, (name,), text.index(name), text.index(name) + len(name))
    if re.search(r"\bgit log\b.*--oneline", command):
        for match in list(_LOGGED.finditer(text))[:1]:
            yield Artefact("commit", match[0], (match[1][:7],), match.start(), match.end())
