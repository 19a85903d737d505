"""The verbs: one name in Python, on the command line and over MCP.

The faces are compared with this table by tests/test_verbs.py. The command line reads its help from here, so
that `tt --help` imports nothing else.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Verb(NamedTuple):
    python: str  # where it hangs on slicebase.base.Slicebase; keywords and builtins are spelled differently
    command: str  # the module and function of the command line
    summary: str


VERBS: Mapping[str, Verb] = {
    "init": Verb("init", "slicebase.cli.workspace:init", "Make this folder a workspace."),
    "validate": Verb("validate", "slicebase.cli.validate:validate", "Check slice files against the format."),
    "import": Verb("import_", "slicebase.cli.history:import_", "Bring conversations into the graph."),
    "turns": Verb("graph.turns", "slicebase.cli.history:turns", "List sessions and turns, or search their content."),
    "show": Verb("show", "slicebase.cli.history:show", "Show what a reference names."),
    "slice": Verb("graph.select", "slicebase.cli.slicing:slice_", "Select the context slice around a turn."),
    "context": Verb("context", "slicebase.cli.path:context", "Build a cited context for a question."),
    "replay": Verb("replay", "slicebase.cli.path:replay", "Print the same bytes that a manifest recorded."),
    "verify": Verb("verify", "slicebase.cli.path:verify", "Re-derive everything stored and compare."),
}
