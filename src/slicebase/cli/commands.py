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
    "config": Verb("config", "slicebase.cli.workspace:config", "Show the settings and their sources, or set one."),
    "doctor": Verb("doctor", "slicebase.cli.workspace:doctor", "Say what is wrong here and how to mend it."),
    "search": Verb("search", "slicebase.cli.find:search", "Find slice files, rows and turns by their words."),
    "explore": Verb("library.explore", "slicebase.cli.explore:explore", "Follow the links around a file."),
    "stale": Verb("library.stale", "slicebase.cli.find:stale", "List the files that should be looked at again."),
    "list": Verb("library.list_files", "slicebase.cli.find:list_files", "List slice files."),
    "info": Verb("library.info", "slicebase.cli.find:info", "Show everything that is known of a file."),
    "validate": Verb("validate", "slicebase.cli.check:validate", "Check slice files against the format."),
    "create": Verb("library.create", "slicebase.cli.write:create", "Make a new slice file."),
    "define": Verb("library.define", "slicebase.cli.write:define", "Set keys of a file's metadata."),
    "remember": Verb("library.remember", "slicebase.cli.write:remember", "Write to a file as its contract says."),
    "recall": Verb("library.recall", "slicebase.cli.recall:recall", "Print memory as a model should see it."),
    "connect": Verb("library.connect", "slicebase.cli.write:connect", "Link a file to another."),
    "disconnect": Verb("library.disconnect", "slicebase.cli.write:disconnect", "Take a link away."),
    "refresh": Verb("library.refresh", "slicebase.cli.write:refresh", "Make a derived file anew from its source."),
    "routine": Verb("library.routine", "slicebase.cli.recall:routine", "Compile a routine into steps to follow."),
    "forget": Verb("library.forget", "slicebase.cli.write:forget", "Take a file out of sight."),
    "restore": Verb("library.restore", "slicebase.cli.write:restore", "Bring back what was forgotten."),
    "purge": Verb("library.purge", "slicebase.cli.write:purge", "Take a file's content away for good."),
    "import": Verb("import_", "slicebase.cli.history:import_", "Bring conversations into the graph."),
    "export": Verb("export", "slicebase.cli.history:export", "Write a session as a conversation slice file."),
    "turns": Verb("graph.turns", "slicebase.cli.history:turns", "List sessions and turns, or search their content."),
    "show": Verb("show", "slicebase.cli.history:show", "Show what a reference names."),
    "slice": Verb("graph.select", "slicebase.cli.slice:slice_", "Select the context slice around a turn."),
    "context": Verb("context", "slicebase.cli.context:context", "Build a cited context for a question."),
    "lost": Verb("lost", "slicebase.cli.lost:lost", "Say what a compaction forgot, and bring it back."),
    "replay": Verb("replay", "slicebase.cli.context:replay", "Print the same bytes that a manifest recorded."),
    "add": Verb("add", "slicebase.cli.recall:add", "Make a local text document citable, in stable chunks."),
    "cite": Verb("cite", "slicebase.cli.recall:cite", "Put a piece of text into the evidence ledger."),
    "run": Verb("runs", "slicebase.cli.runs:run", "Log, compact and narrate the runs of agents."),
    "hook": Verb("hooks", "slicebase.cli.hooks:hook", "Let a coding agent call Slicebase as it works."),
    "agents-md": Verb("agents_md", "slicebase.cli.workspace:agents_md", "Keep a block about the memory in AGENTS.md."),
    "why": Verb("why", "slicebase.cli.recall:why", "Show what something rests on, down to the quoted text."),
    "seal": Verb("seal", "slicebase.cli.recall:seal", "Write the heads of all that is stored into a file for git."),
    "verify": Verb("verify", "slicebase.cli.check:verify", "Re-derive everything stored and compare."),
}

# The verbs of runs: `tt run start` and so on.
RUN_VERBS: Mapping[str, str] = {
    "start": "runs.start",
    "log": "runs.log",
    "from": "runs.from_session",
    "claim": "runs.claim",
    "conflict": "runs.conflict",
    "question": "runs.question",
    "failure": "runs.failure",
    "compact": "runs.compact",
    "snapshot": "runs.snapshot",
    "narrative": "runs.narrative",
    "stop": "runs.stop",
    "fork": "runs.fork",
    "status": "runs.status",
    "list": "runs.list_runs",
}


class Face(NamedTuple):
    command: str
    summary: str


# Commands that show the verbs or offer them elsewhere, and so have no place in Python.
FACES: Mapping[str, Face] = {
    "demo": Face("slicebase.cli.workspace:demo", "Show what a compaction forgot, and how it is possible to know."),
    "mcp": Face("slicebase.cli.mcp:mcp", "Serve this workspace to an agent, over MCP."),
}

# Commands that other programs call.
PLUMBING: Mapping[str, str] = {"merge-driver": "slicebase.cli.check:merge_driver"}
