"""The doors of a workspace: every verb through which text enters, and the redaction that stands there (ruling 50).

Text is replaced. A name that something else refers to, such as the id of a run, cannot be replaced, so one that holds a
secret is refused; and so are bytes that are not text. What is marked as private is never kept, also where redaction is
turned off: its mark is the wish of the person who wrote it.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.boundary import real_path

if TYPE_CHECKING:  # start-up counts: most short texts need no rules, and a command that reads looks at none
    from slicebase.secrets.redact import Redactor

_LARGEST: Final = 64 << 20  # bytes of a payload that is redacted; a larger one is only looked at
# Compiled on first use for a fast start: only errors need them.
_OWN_ID: Final = r"(?<![^\s/:])0[0-9A-HJKMNP-TV-Z]{25}(?![^\s/:.,;])"
_CUT: Final = r"(?<![\w~-])[\w~-]{8,}+…"
_OVERLAP: Final = 64 << 10  # bytes that two pieces of a large payload share, so that no key is cut in two


class _Finding(Protocol):
    @property
    def message(self) -> str: ...

    @property
    def hint(self) -> str: ...

    def _replace(self, *, message: str, hint: str) -> Any: ...


_Told = TypeVar("_Told", bound=_Finding)


class Redaction:
    """Replaces secrets in what enters an open workspace, and counts them by rule."""

    def __init__(self, root: Path, rules: Callable[[], str | None], *, enabled: bool = True) -> None:
        self.enabled = enabled
        self.counts: Counter[str] = Counter()
        self._root = root
        self._rules = rules  # returns the path of the user's rules, if the settings name one
        self._made: tuple[object, Redactor] | None = None  # the redactor, and the state of the file of its rules

    # Text

    def text(self, text: str) -> str:
        """Returns a text without secrets, and counts them."""
        return self._redacted(text, self.counts)

    def uncounted(self, text: str) -> str:
        """Returns a text without secrets that is compared with stored text, and not stored itself."""
        return self._redacted(text, Counter())

    def value(self, value: Any) -> Any:
        """Returns a value without secrets in its texts. What is neither text nor contains any stays as it is."""
        try:
            return self._value(value)
        except RecursionError:
            raise SlicebaseError("not-json-value", "the value is nested too deeply") from None

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            from slicebase.secrets.glance import value_may_hold_secrets

            if self.enabled and not value_may_hold_secrets(value) and not self._rules():
                return value
            return self.redactor.value(value, self.counts)
        if isinstance(value, bytes | bytearray | memoryview | os.PathLike):
            return value
        if hasattr(value, "__struct_fields__"):
            from msgspec.structs import asdict, replace

            return replace(value, **{name: self._value(inner) for name, inner in asdict(value).items()})
        if isinstance(value, Iterable):
            found = [self._value(inner) for inner in value]
            return tuple(found) if type(value) is tuple else found
        return value

    def data(self, data: bytes) -> bytes:
        """Returns bytes without secrets, for a record that nobody reads as a file of its kind."""
        coding = _coding(data)
        text = data.decode(coding)
        clean = self.text(text)
        return data if clean is text else clean.encode(coding)

    def _redacted(self, text: str, counts: Counter[str]) -> str:
        from slicebase.secrets.glance import may_hold_private, may_hold_secrets

        glance = may_hold_secrets if self.enabled else may_hold_private
        if not glance(text) and not (self.enabled and self._rules()):
            return text
        return self.redactor.text(text, counts)

    # What is shown

    def error(self, error: SlicebaseError) -> SlicebaseError:
        """Returns an error without the secrets of what it repeats, such as an argument, for whoever prints it."""
        clean = self._shown(error.message, error.hint, error.where.file or "")
        if clean is None:
            return error
        message, hint, file = clean
        where = error.where._replace(file=file if error.where.file is not None else None)
        return SlicebaseError(error.code, message, hint=hint, where=where)

    def finding(self, found: _Told) -> _Told:
        """Returns a finding without the secrets of what it repeats: a file may have one where none is looked for."""
        clean = self._shown(found.message, found.hint)
        return found if clean is None else found._replace(message=clean[0], hint=clean[1])

    def _shown(self, *given: str) -> list[str] | None:
        """Returns texts that repeat something without its secrets; None where nothing has to be replaced."""
        texts = [*map(self._without_cut, given)]
        if texts[0] == given[0] and not any(map(self._may_show_secrets, texts)):
            return None  # as nearly always: no rules are loaded
        try:
            return [*map(self.uncounted, texts)]
        except SlicebaseError:  # the rules of the user cannot be read, which may be the error itself
            built_in = Redaction(self._root, lambda: None, enabled=self.enabled)
            return [*map(built_in.uncounted, texts)]

    def _without_cut(self, text: str) -> str:
        """Returns a text without the beginnings of words that a cut has left: no rule knows the beginning of a key."""
        return re.sub(_CUT, "…", text) if self.enabled else text

    def _may_show_secrets(self, text: str) -> bool:
        from slicebase.secrets.glance import may_hold_private, may_hold_secrets

        if not self.enabled:
            return may_hold_private(text)
        # Errors often name a file by its path and its id, which are long runs of letters and digits, too.
        other = re.sub(_OWN_ID, "", text.replace(os.path.join(self._root, ""), ""))
        return may_hold_secrets(other) or bool(text and self._own_rules())

    def _own_rules(self) -> str | None:
        try:
            return self._rules()
        except SlicebaseError:  # the settings cannot be read
            return None

    # What cannot be replaced

    def refuse(self, what: str, value: Any) -> None:
        """Raises `holds-secret` if a secret is in a text, in bytes or in the texts of a list that cannot be changed."""
        counts: Counter[str] = Counter()
        if isinstance(value, bytes):
            if self.enabled or _is_text(value):
                self._redacted(value.decode(_coding(value)), counts)
        elif isinstance(value, str):
            self._redacted(value, counts)
        elif isinstance(value, Iterable):
            self.redactor.value([*value], counts)
        if counts:
            message = f"{what} contains what redaction replaces ({', '.join(sorted(counts))}), and cannot be changed"
            raise SlicebaseError("holds-secret", message, hint="choose another, or turn redaction off for this call")

    def copied(self, what: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yields the bytes of a payload that is copied into the library.

        Secrets in text are replaced. Bytes that are not text, and very large files, cannot be changed.
        """
        head = bytearray()
        for chunk in chunks:
            head += chunk
            if len(head) > _LARGEST:
                yield from self._looked_at(what, chain([bytes(head)], chunks))
                return
        data = bytes(head)
        if _is_text(data):
            yield self.text(data.decode()).encode()
        else:
            yield from self._looked_at(what, iter([data]))

    def _looked_at(self, what: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
        before = b""
        for chunk in chunks:
            self.refuse(what, before + chunk)
            before = chunk[-_OVERLAP:]
            yield chunk

    # Rules

    def state(self) -> str:
        """Returns what changes when texts are redacted differently: for indexes of texts that are not ours."""
        name = self._rules() if self.enabled else None
        if name is None:
            return "on" if self.enabled else "private only"
        import hashlib  # imported here to keep start-up fast

        return hashlib.sha256(_read(self._path_of(name))).hexdigest()

    @property
    def redactor(self) -> "Redactor":
        """The redactor of this workspace, with the rules that its settings name."""
        from slicebase.secrets.redact import Redactor, built_in, private_only

        if not self.enabled:
            return private_only()
        name = self._rules()
        if name is None:
            return built_in()
        path = self._path_of(name)
        data = _read(path)
        if self._made is None or self._made[0] != (path, data):
            from slicebase.secrets.rule_file import read_rules

            try:
                self._made = (path, data), Redactor(read_rules(data.decode(errors="replace")))
            except SlicebaseError as error:
                raise error.at(Where(str(path))) from None
        return self._made[1]

    def _path_of(self, name: str) -> Path:
        """Returns the path of a file of rules. It is inside the workspace (ruling 49)."""
        path = real_path(self._root / name, "bad-setting")
        if not path.is_relative_to(real_path(self._root)):
            raise SlicebaseError("bad-setting", f"redaction.rules names {name}, which is outside the workspace")
        return path


def _read(path: Path) -> bytes:
    from slicebase.core.parsers import MOST_TOML  # imported here to keep start-up fast
    from slicebase.workspace.atomic import read_bytes

    try:
        return read_bytes(path, most=MOST_TOML)
    except (OSError, SlicebaseError) as error:
        reason = error.message if isinstance(error, SlicebaseError) else error.strerror
        message = f"the rules that redaction.rules names cannot be read: {reason}"
        raise SlicebaseError("bad-setting", message, where=Where(str(path))) from None


def _is_text(data: bytes) -> bool:
    return _coding(data) == "utf-8"


def _coding(data: bytes) -> str:
    """Returns how bytes are read to find secrets in them. A byte that is not UTF-8 counts as one character."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "latin-1" if b"\0" in data else "utf-8"


# Verbs


class _Guarded(Protocol):
    @property
    def surroundings(self) -> "_Redacting": ...


class _Redacting(Protocol):
    @property
    def redaction(self) -> Redaction: ...


_Verb = TypeVar("_Verb", bound=Callable[..., Any])
VARIABLE: Final = "SLICEBASE_REDACT"  # of the user's environment: `off` turns redaction off
_OFF: Final = frozenset({"off", "0", "false", "no"})


def is_on(environment: Mapping[str, str]) -> bool:
    """Returns whether the user's environment leaves redaction on."""
    return environment.get(VARIABLE, "").strip().lower() not in _OFF


def door(*, names: str = "", left: str = "") -> Callable[[_Verb], _Verb]:
    """Marks a verb through which text enters: its arguments are redacted before it runs.

    `names` are the arguments that name something new. They cannot be changed, so one that holds a secret is refused.
    `left` are those that name something that exists, or that the verb redacts itself. A result with a field `redacted`
    says there what was replaced.
    """
    named, kept = frozenset(names.split()), frozenset(left.split())

    def guard(redaction: Redaction, name: str, value: Any) -> Any:
        if name in named:
            redaction.refuse(f"`{name}`", value)
        return value if value is None or name in named or name in kept else redaction.value(value)

    def mark(verb: _Verb) -> _Verb:
        order = verb.__code__.co_varnames[1 : verb.__code__.co_argcount]

        @wraps(verb)
        def call(self: _Guarded, *args: Any, **keywords: Any) -> Any:
            redaction = self.surroundings.redaction
            before = redaction.counts.copy()
            given = [guard(redaction, name, value) for name, value in zip(order, args, strict=False)]
            by_name = {name: guard(redaction, name, value) for name, value in keywords.items()}
            result = verb(self, *given, *args[len(given) :], **by_name)
            new = redaction.counts - before
            return (
                result._replace(redacted=dict(new)) if new and "redacted" in getattr(result, "_fields", ()) else result
            )

        return call  # type: ignore[return-value]  # it takes what the verb takes

    return mark
