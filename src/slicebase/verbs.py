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
    "uninit": Verb("uninit", "slicebase.cli.workspace:uninit", "Take away what init set up; slice files stay."),
    "status": Verb("status", "slicebase.cli.workspace:status", "Say where this is, what is here and what is wrong."),
    "config": Verb("config", "slicebase.cli.settings:config", "Show the settings and their sources, or set one."),
    "doctor": Verb("doctor", "slicebase.cli.doctor:doctor", "Say what is wrong here and how to mend it."),
    "search": Verb("search", "slicebase.cli.finding:search", "Find slice files, rows and turns by their words."),
    "explore": Verb("library.explore", "slicebase.cli.exploring:explore", "Follow the links around a file."),
    "stale": Verb("library.stale", "slicebase.cli.finding:stale", "List the files that should be looked at again."),
    "list": Verb("library.list_files", "slicebase.cli.finding:list_files", "List slice files."),
    "info": Verb("library.info", "slicebase.cli.finding:info", "Show everything that is known of a file."),
    "validate": Verb("validate", "slicebase.cli.validate:validate", "Check slice files against the format."),
    "import": Verb("import_", "slicebase.cli.history:import_", "Bring conversations into the graph."),
    "turns": Verb("graph.turns", "slicebase.cli.history:turns", "List sessions and turns, or search their content."),
    "show": Verb("show", "slicebase.cli.history:show", "Show what a reference names."),
    "slice": Verb("graph.select", "slicebase.cli.slicing:slice_", "Select the context slice around a turn."),
    "context": Verb("context", "slicebase.cli.path:context", "Build a cited context for a question."),
    "replay": Verb("replay", "slicebase.cli.path:replay", "Print the same bytes that a manifest recorded."),
    "verify": Verb("verify", "slicebase.cli.path:verify", "Re-derive everything stored and compare."),
}

# Commands that other programs call.
PLUMBING: Mapping[str, str] = {"merge-driver": "slicebase.cli.merging:merge_driver"}
