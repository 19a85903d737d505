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
    "create": Verb("library.create", "slicebase.cli.writing:create", "Make a new slice file."),
    "define": Verb("library.define", "slicebase.cli.writing:define", "Set keys of a file's metadata."),
    "remember": Verb("library.remember", "slicebase.cli.writing:remember", "Write to a file as its contract says."),
    "recall": Verb("library.recall", "slicebase.cli.recalling:recall", "Print memory as a model should see it."),
    "connect": Verb("library.connect", "slicebase.cli.writing:connect", "Link a file to another."),
    "disconnect": Verb("library.disconnect", "slicebase.cli.writing:disconnect", "Take a link away."),
    "refresh": Verb("library.refresh", "slicebase.cli.writing:refresh", "Make a derived file anew from its source."),
    "routine": Verb("library.routine", "slicebase.cli.recalling:routine", "Compile a routine into steps to follow."),
    "forget": Verb("library.forget", "slicebase.cli.forgetting:forget", "Take a file out of sight."),
    "restore": Verb("library.restore", "slicebase.cli.forgetting:restore", "Bring back what was forgotten."),
    "purge": Verb("library.purge", "slicebase.cli.forgetting:purge", "Take a file's content away for good."),
    "import": Verb("import_", "slicebase.cli.history:import_", "Bring conversations into the graph."),
    "export": Verb("export", "slicebase.cli.history:export", "Write a session as a conversation slice file."),
    "turns": Verb("graph.turns", "slicebase.cli.history:turns", "List sessions and turns, or search their content."),
    "show": Verb("show", "slicebase.cli.history:show", "Show what a reference names."),
    "slice": Verb("graph.select", "slicebase.cli.slicing:slice_", "Select the context slice around a turn."),
    "context": Verb("context", "slicebase.cli.path:context", "Build a cited context for a question."),
    "replay": Verb("replay", "slicebase.cli.path:replay", "Print the same bytes that a manifest recorded."),
    "verify": Verb("verify", "slicebase.cli.path:verify", "Re-derive everything stored and compare."),
}
