"""What an open workspace takes from outside: the time, random bytes, settings, text, and threads, one at a time.

A program passes its own clock and entropy where results must repeat. A clock is a function like `time.time`; it may
also return a `datetime` or a text in RFC 3339 form. An entropy is a function like `os.urandom`.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import cached_property, wraps
from threading import Event, Lock, RLock, Thread, current_thread, main_thread
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from slicebase.core.ids import ULID_RANDOM_BYTES, ulid
from slicebase.core.times import Moment, milliseconds
from slicebase.errors import SlicebaseError
from slicebase.workspace.arguments import refuse_wrong_types
from slicebase.workspace.boundary import cannot_read
from slicebase.workspace.doors import Redaction
from slicebase.workspace.workspace import SETTINGS, StrPath, Workspace

if TYPE_CHECKING:  # keeps start-up fast: not every command needs a setting
    from slicebase.workspace.settings import Settings
    from slicebase.workspace.writer import Writer

Clock = Callable[[], Moment]
Entropy = Callable[[int], bytes]


class Surroundings:
    """The clock, the entropy, the settings, the redaction and the lock that all parts of an open workspace share."""

    def __init__(
        self,
        workspace: Workspace,
        clock: Clock = time.time,
        entropy: Entropy = os.urandom,
        *,
        redact: bool = True,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.root = workspace.root
        self._environment = environment
        self.redaction = Redaction(workspace.root, self._rules, enabled=redact)
        self._last_rules: tuple[str | None] | None = None
        self._file = workspace.root / SETTINGS
        self.clock = clock
        self.entropy = entropy
        self._lock = RLock()
        self._process = os.getpid()
        self._read: tuple[object, Settings] | None = None  # the settings, and the state of their file

    @property
    def settings(self) -> "Settings":
        """The settings as their file has them now, whoever changed it."""
        state = state_on_disk(self._file)
        if self._read is None or self._read[0] != state:
            from slicebase.workspace.settings import load_settings

            self._read = state, load_settings(self._file.parent)
        return self._read[1]

    def _rules(self) -> str | None:
        """Returns the path of the user's rules. While the settings cannot be read, what they said last counts."""
        try:
            # Most workspaces have no settings, and a short command should not load what reads them.
            absent = self._read is None and state_on_disk(self._file) is None
            self._last_rules = (None if absent else self.settings.redaction_rules,)
        except SlicebaseError:
            if self._last_rules is None:
                raise
        return self._last_rules[0]

    @property
    def is_of_this_process(self) -> bool:
        """Whether the workspace was opened in this process, not in one that it was forked from."""
        return os.getpid() == self._process

    def now(self) -> int:
        """Returns the current time, in milliseconds since 1970."""
        return milliseconds(self.clock())

    def random_bytes(self) -> bytes:
        """Returns the random bytes of one new id."""
        return self.entropy(ULID_RANDOM_BYTES)

    def writer(self, client: str | None = None) -> "Writer":
        """Returns who writes, as the environment tells; `client` is the name of an MCP client."""
        from slicebase.workspace.writer import writer  # imported here: most writes are not signed

        return writer(self._environment, self.root.name, self.redaction.text, client)

    def new_id(self) -> str:
        """Returns a new ULID."""
        return ulid(self.now(), self.random_bytes())

    def one_thread(self) -> AbstractContextManager[object]:
        """Returns the lock of the workspace, for a `with` block; a thread that is inside may enter again.

        Raises `other-process` in a forked process: SQLite's connections must not be used there, and the lock may be
        held by a thread that does not exist there.
        """
        refuse_other_process(self._process)
        load_for_threads()
        return self._lock

    def enter_alone(self, seconds: float) -> bool:
        """Waits until no thread is inside, and keeps others out until `leave`.

        Returns false, and keeps nobody out, if one is still inside after so long, or if it is this thread.
        """
        is_inside: bool = self._lock._is_owned()  # type: ignore[attr-defined]  # as threading.Condition asks
        return not is_inside and self._lock.acquire(timeout=seconds)

    def leave(self) -> None:
        """Lets other threads in again."""
        self._lock.release()


def refuse_other_process(process: int) -> None:
    """Raises `other-process` if this is not the process in which a workspace was opened."""
    if os.getpid() != process:
        raise SlicebaseError(
            "other-process",
            "the workspace was opened before this process was forked",
            hint="open it again in the new process",
        )


_PARSER: Final = "yaml_rs"
_loading = Lock()


def load_for_threads() -> None:
    """Loads the YAML parser so that threads may come and go, unless this is the main thread, which loads it itself.

    The allocator of yaml-rs (mimalloc 3, microsoft/mimalloc#1287) assumes that the thread that loads it never ends:
    the process would crash later. So a thread loads it that waits until the process ends.
    """
    if _PARSER in sys.modules or current_thread() is main_thread():
        return
    with _loading:
        if _PARSER in sys.modules:
            return
        ready = Event()
        with suppress(RuntimeError):  # the interpreter ends: no thread can start, and this one outlives the rest
            Thread(target=_load_and_stay, args=(ready,), name="slicebase-yaml", daemon=True).start()
            ready.wait()


def _load_and_stay(ready: Event) -> None:
    try:
        import yaml_rs  # noqa: F401
    finally:
        ready.set()
    Event().wait()


_TICK: Final = 2_000_000_000  # nanoseconds: a disk's clock can be that coarse


def state_on_disk(path: StrPath) -> object:
    """Returns what changes when a file is written; None for a file that cannot be seen."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if time.time_ns() - found.st_ctime_ns < _TICK:
        return object()  # equals nothing: the next write may leave the same times
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


class Surrounded(Protocol):
    """An object that knows its surroundings."""

    @property
    def surroundings(self) -> Surroundings: ...


_Class = TypeVar("_Class", bound=type[Surrounded])
_Method = TypeVar("_Method", bound=Callable[..., Any])
_Value = TypeVar("_Value")


def one_thread_at_a_time(cls: _Class) -> _Class:
    """Makes every public method of a class wait for its turn: threads that share the surroundings take turns.

    The types of its arguments are checked first.
    """
    for name, method in list(vars(cls).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(cls, name, at_once(_typed(method)) if is_at_once(method) else in_turn(method))
    return cls


_without_turn: set[Callable[..., Any]] = set()


def at_once(method: _Method) -> _Method:
    """Marks a method that waits for no turn, since it only creates an object whose methods do."""
    _without_turn.add(method)
    return method


def is_at_once(method: Callable[..., Any]) -> bool:
    """Returns whether a method waits for no turn."""
    return method in _without_turn


def is_of_surrogates(error: UnicodeEncodeError) -> bool:
    """Returns whether a text has half of a surrogate pair, which neither a file nor SQLite can store."""
    return "\ud800" <= error.object[error.start] <= "\udfff"


def in_turn(method: _Method) -> _Method:
    """Makes one method wait for its turn: for `__enter__`, which is no public method."""

    @wraps(method)
    def call(self: Surrounded, *args: Any, **keywords: Any) -> Any:
        refuse_wrong_types(method, args, keywords)
        with self.surroundings.one_thread():
            try:
                return method(self, *args, **keywords)
            except UnicodeEncodeError as error:
                if not is_of_surrogates(error):  # a callback of the program, on a terminal that is not UTF-8
                    raise
                from slicebase.core.hashing import lone_surrogate

                raise lone_surrogate(error) from None
            except PermissionError as error:
                if error.filename is None:  # of a callback of the program
                    raise
                raise cannot_read(error, self.surroundings.root) from None

    return call  # type: ignore[return-value]  # it takes what the method takes


def _typed(method: _Method) -> _Method:
    @wraps(method)
    def call(self: object, *args: Any, **keywords: Any) -> Any:
        refuse_wrong_types(method, args, keywords)
        return method(self, *args, **keywords)

    return call  # type: ignore[return-value]  # it takes what the method takes


def part(create: Callable[[Any], _Value]) -> cached_property[_Value]:
    """Makes a method a part of an open workspace: it is created at its first use, once, whichever thread is first."""
    return _Part(create)


class _Part(cached_property[Any]):
    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self
        with instance.surroundings.one_thread():
            return super().__get__(instance, owner)
