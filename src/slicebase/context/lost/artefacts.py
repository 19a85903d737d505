"""Artefacts that a text names: branches, commits, pull requests, issues, URLs (docs/lost.md)."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final, NamedTuple


class Artefact(NamedTuple):
    """An artefact with the words that name it, and its span in the text."""

    what: str
    text: str
    names: tuple[str, ...]
    start: int
    end: int


_BRANCH: Final = re.compile(
    r"(?:^On branch |^Switched to (?:a new )?branch '|^\* |set up to track '(?:origin/)?)([\w./#-]{3,100})'?",
    re.MULTILINE,
)
_COMMITTED: Final = re.compile(r"^\[([\w./#-]+)(?: \([\w-]+\))? ([0-9a-f]{7,40})\] (.{1,150})$", re.MULTILINE)
_LOGGED: Final = re.compile(r"^([0-9a-f]{7,12}) (?:\([^)]*\) )?(.{3,150})$", re.MULTILINE)
_MERGES: Final = re.compile(r"Merge (?:pull request|branch|remote|commit|tag)\b")
_TRUNKS: Final = frozenset({"main", "master", "trunk", "develop", "dev", "HEAD"})  # every checkout has one
_URL: Final = re.compile(r"https?://[^\s<>\"'`)\]|]{8,300}")
_PULL: Final = re.compile(
    r"https?://(?!api\.)[^\s<>\"'`)\]|]+/(?:pull|merge_requests|issues?|browse)/[\w-]+[^\s<>\"'`)\]|]*"
)
_NOTHING: Final = re.compile(r"//api\.|example\.(?:com|org)|localhost|127\.0\.0\.1|schemas?\.|w3\.org")


_NUMBER_OF: Final = re.compile(
    r"/(?:(?P<pull>pull|merge_requests|issues)/(?P<number>\d+)|(?:issues?|browse)/(?P<key>[A-Z][A-Z\d]*-\d+))\b"
)


def short_names(url: str) -> tuple[str, ...]:
    """Returns how people write the pull request or issue of an address: `#136`, `PR 136`, `ENT-241`."""
    match = _NUMBER_OF.search(url)
    if match is None:
        return ()
    if match["key"]:
        return (match["key"],)
    number = match["number"]
    words = ("issue", "issues") if match["pull"] == "issues" else ("PR", "MR", "pull request", "Pull request", "pull")
    return (f"#{number}", *(f"{word} {mark}{number}" for word in words for mark in ("", "#")))


def artefacts_in(text: str, command: str = "") -> Iterator[Artefact]:
    """Yields the artefacts that a text names; of a command's output, also the branches and commits of git."""
    if command:
        yield from _of_git(text, command)
    for match in _URL.finditer(text) if not command or command.startswith(("gh", "glab", "git push")) else ():
        url = match[0].rstrip(".,;:*_")
        what = "pull request or issue" if _PULL.match(url) else "url"
        is_field = (
            what == "url" and command and text[match.start() - 1 : match.start()] == '"'
        )  # of JSON: of a person …
        if not is_field and not _NOTHING.search(url):
            yield Artefact(what, url, (url,), match.start(), match.start() + len(url))


def _of_git(text: str, command: str) -> Iterator[Artefact]:
    for match in _COMMITTED.finditer(text):
        yield Artefact("commit", match[0], (match[2][:7],), match.start(), match.end())
    if re.search(r"\bgit (?:status|branch|checkout|switch|push)\b|\b(?:gh|glab) [pm]r checkout\b", command):
        for match in _BRANCH.finditer(text):
            if match[1] not in _TRUNKS:
                yield Artefact("branch", match[0], (match[1],), match.start(), match.end())
    if "--show-current" in command and len(text.split()) == 1:
        name = text.strip()
        if name not in _TRUNKS:
            yield Artefact("branch", name, (name,), text.index(name), text.index(name) + len(name))
    if re.search(r"\bgit log\b.*--oneline", command):
        for match in [each for each in list(_LOGGED.finditer(text))[:1] if not _MERGES.match(each[2])]:
            yield Artefact("commit", match[0], (match[1][:7],), match.start(), match.end())


# What commands remove


_REMOVES: Final = re.compile(r"(?:git )?(?:rm|mv)\s|unlink\s|trash\s|git worktree remove\s")
_CLEANED: Final = re.compile(r"^Removing (.+?)/?\s*$", re.MULTILINE)
_BRANCH_REMOVED: Final = re.compile(r"git branch (?:.*\s)?(?:-[dD]|--delete)\s|git push \S+ (?:--delete\s|-d\s|:)")
_BRANCH_DELETED: Final = re.compile(r"\bdeleted (?:local |remote |the )*branch ['\"]?([\w./#-]+)", re.IGNORECASE)
_CLOSED: Final = re.compile(r"(?:gh|glab) (?:pr|mr|issue) (?:close|merge|delete)\b\D*(\d+)?")


class Removals:
    """What the commands of a transcript removed: files and folders, branches, pull requests and issues."""

    def __init__(self) -> None:
        self._paths: dict[str, list[tuple[int, str]]] = {}  # by their last step
        self._patterns: list[tuple[int, str]] = []
        self._names: dict[str, int] = {}  # of branches, and numbers of pull requests and issues, with the last removal

    def add(self, order: int, simple: str, output: str) -> None:
        """Adds what a simple command removes, given its output."""
        words = [word.strip("'\"") for word in simple.split() if not word.startswith("-")]
        if _REMOVES.match(simple):
            named = words[2:] if words[0] == "git" else words[1:]
            for path in named[:-1] if "mv" in words[:2] else named:
                self.add_file(order, path)
        elif simple.startswith("git clean"):
            for match in _CLEANED.finditer(output):
                self.add_file(order, match[1])
        elif _BRANCH_REMOVED.match(simple):
            self._names |= {name.lstrip(":"): order for name in words[2:]}
        elif (closed := _CLOSED.match(simple)) and closed[1]:
            self._names[closed[1]] = order
        if simple.startswith(("gh ", "glab ", "git ")):
            self._names |= {match[1]: order for match in _BRANCH_DELETED.finditer(output)}

    def add_file(self, order: int, path: str) -> None:
        """Adds a file or a folder that was removed."""
        last = path.rstrip("/").rsplit("/", 1)[-1]
        if "*" in last:
            self._patterns.append((order, path))
        else:
            self._paths.setdefault(last, []).append((order, path))

    def concern(self, order: int, what: str, name: str, text: str) -> bool:
        """Returns whether an artefact was removed after a turn. A file is named by its path, which is its text."""
        if what == "file":
            near = [each for step in text.split("/") for each in self._paths.get(step, ())]
            return any(at > order and _is_path_of(path, text) for at, path in (*near, *self._patterns))
        if what == "pull request or issue":
            numbers = re.findall(r"/(\d+)", name)
            return any(self._names.get(number, -1) > order for number in numbers)
        return what == "branch" and self._names.get(name, -1) > order


def _is_path_of(given: str, path: str) -> bool:
    """Returns whether a path that a command names is that of a file, or of a folder above it.

    A path that is not absolute counts from a folder that is not known: it has to be a row of steps of the other.
    """
    wanted = [step for step in given.split("/") if step not in ("", ".", "..")]
    steps = [step for step in path.split("/") if step not in ("", ".")]
    starts = range(1 if given.startswith("/") and path.startswith("/") else len(steps))
    return any(step.strip("*?") for step in wanted) and any(
        len(steps) >= at + len(wanted) and all(map(_is_step, steps[at : at + len(wanted)], wanted)) for at in starts
    )


def _is_step(step: str, wanted: str) -> bool:
    return step == wanted or ("*" in wanted and fnmatchcase(step, wanted))
