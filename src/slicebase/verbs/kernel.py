"""What is wrong with the kernel of context slices, as it is installed and chosen."""

import hashlib
import os
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Final

from slicebase import graph
from slicebase.errors import SlicebaseError
from slicebase.graph.selection import KERNEL
from slicebase.truth.sessions import chosen_kernel

_FOLDER: Final = Path(os.path.abspath(graph.__path__[0]))


def kernel_problems() -> Iterator[tuple[str, str]]:
    """Yields what is wrong, each with what helps: a choice that cannot be, or compiled files that are of no use."""
    try:
        name = chosen_kernel()
    except SlicebaseError as error:
        yield error.message, error.hint
        return
    again = f"install slicebase again where there is a C compiler, or set {KERNEL}=plain"
    if name == "native" and not is_current():
        yield "the compiled kernel was made from other sources than those that are installed", again
    elif name == "plain" and os.environ.get(KERNEL, "").strip().lower() != name and (why := _broken()):
        yield f"a compiled kernel is installed, and cannot be loaded: {why}", again


def _broken() -> str | None:
    """Returns why a kernel that was compiled cannot be loaded; None if none was compiled."""
    if not any(next(_FOLDER.glob(f"native*{suffix}"), None) for suffix in EXTENSION_SUFFIXES):
        return None
    try:
        from slicebase.graph import native, native_on_demand  # noqa: F401  imported here: each may not exist
    except ImportError as error:
        return str(error)
    return None


def is_current() -> bool:
    """Returns whether the compiled kernel was made from the sources beside it, as setup.py digests them."""
    from slicebase.graph import native  # imported here: it may not exist

    names = sorted(path.stem for path in _FOLDER.glob("native*.pxd"))
    sources = [_FOLDER / f"{name}{suffix}" for name in names for suffix in (".py", ".pxd")]
    try:
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    except OSError:  # an installation without sources cannot have others
        return True
    return digest == native.COMPILED_FROM
