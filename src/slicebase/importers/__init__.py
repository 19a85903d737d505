"""Conversations from other tools, as turns: byte streams in; batches of turns and what there is to report out.

run = Import(Options())
for source in sources:                                # main files before their subagents': by `reading_order`
    for batch in run.read(source, its_format): …      # into the store, and to a `Report`
"""

from typing import TYPE_CHECKING, Any

from slicebase.importers.values import Batch, Format, Note, Options, Report, Source

if TYPE_CHECKING:  # start-up counts: who follows one transcript needs no other format
    from slicebase.importers.formats import FORMATS, HEAD_BYTES, Import, reading_order, recognise

__all__ = [
    "FORMATS",
    "HEAD_BYTES",
    "Batch",
    "Format",
    "Import",
    "Note",
    "Options",
    "Report",
    "Source",
    "reading_order",
    "recognise",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    from slicebase.importers import formats

    return getattr(formats, name)
