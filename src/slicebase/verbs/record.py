"""Records the contexts that verbs build. Every context is recorded here, and nowhere else.

A purge may come between building and recording. What it took is not written again: such a context is refused, or built
again.
"""

from collections.abc import Callable, Iterator
from typing import Final

from slicebase.context.assemble import Context
from slicebase.context.manifest import Manifest
from slicebase.errors import SlicebaseError
from slicebase.verbs.parts import Parts

_TRIES: Final = 3


def built(parts: Parts, build: Callable[[], Context], *, record: bool) -> Context:
    """Builds a context, and records it if that is asked for; builds it again if a purge came between the two."""
    for tries_left in reversed(range(_TRIES)):
        acts = parts.truth.runs.log.acts() if parts.workspace.has_memory else 0
        made = build()._replace(acts=acts)
        try:
            return recorded(parts, made) if record else made
        except SlicebaseError as error:
            if error.code != "conflict" or not tries_left:
                raise
    raise AssertionError("the last try returns or raises")


def recorded(parts: Parts, context: Context) -> Context:
    """Records a context if the workspace can be written. Returns it, which says whether it is recorded.

    Raises `no-turn` for a context of another workspace, and `conflict` if something of it was purged since.
    """
    truth = parts.truth
    if truth.database.read_only:
        return context
    for turn in _turns_of(context.manifest):
        truth.turns.get(turn)
    with truth.database.writing():
        _refuse_purged(parts, context)
        if context.policy is not None:
            truth.policies.keep(context.policy)
        truth.manifests.keep(context, parts.surroundings.now())
    return context._replace(recorded=True)


def _turns_of(manifest: Manifest) -> Iterator[str]:
    """Yields the turns that a manifest names: the anchors of its slices, and its pieces."""
    yield from (pinned.anchor_turn_id for pinned in manifest.slices)
    yield from (piece.ref.removeprefix("turn:") for piece in manifest.pieces if piece.ref.startswith("turn:"))


def _refuse_purged(parts: Parts, context: Context) -> None:
    corpora = {piece.corpus for piece in context.manifest.pieces}
    purged = corpora & parts.truth.runs.log.purged_since(context.acts)
    purged.update(corpus for corpus in corpora if corpus.startswith("file:") and _is_tombstone(parts, corpus))
    if purged:
        message = f"{min(purged)} was purged after the context was built"
        raise SlicebaseError("conflict", message, hint="a context that is built now is of what is left")


def _is_tombstone(parts: Parts, file: str) -> bool:
    try:
        return parts.folder.find(file.removeprefix("file:")).purged is not None
    except SlicebaseError:  # the file is gone
        return False
