"""The table of commands: one name for each verb in Python, on the command line and over MCP.

tests/cli/test_commands.py compares these interfaces with the table. The groups are those of `tt --help`, which reads
its summaries from here and so imports no command.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Command(NamedTuple):
    """A command of `tt`."""

    python: str | None  # its attribute of slicebase.base.Slicebase; None for commands that only show or serve verbs
    place: str  # its module and function in slicebase.cli
    summary: str


GROUPS: Mapping[str, Mapping[str, Command]] = {
    "Start": {
        "init": Command("init", "workspace:init", "Make this folder a workspace."),
        "status": Command("status", "workspace:status", "Show what is in this workspace, and what is wrong with it."),
        "config": Command("config", "workspace:config", "Show the settings and their sources, or set one."),
        "demo": Command(None, "workspace:demo", "Show on a sample what a compaction forgot."),
        "backup": Command("backup", "moves:backup", "Write a consistent copy of this workspace to one file."),
        "uninit": Command("uninit", "workspace:uninit", "Remove what init set up; slice files stay."),
    },
    "Remember": {
        "create": Command("library.create", "create:create", "Create a slice file."),
        "define": Command("library.define", "write:define", "Set keys of a file's metadata."),
        "remember": Command("library.remember", "write:remember", "Write a fact to a file, as its contract allows."),
        "connect": Command("library.connect", "write:connect", "Link a file to another."),
        "disconnect": Command("library.disconnect", "write:disconnect", "Remove a link."),
        "refresh": Command("library.refresh", "write:refresh", "Update a derived file after its source changed."),
        "forget": Command("library.forget", "write:forget", "Archive a file: search and listings leave it out."),
        "restore": Command(
            "library.restore", "moves:restore", "Bring back an archived file, or a workspace from a backup."
        ),
        "purge": Command("library.purge", "purge:purge", "Delete content permanently; a tombstone stays."),
    },
    "Find": {
        "search": Command("search", "find:search", "Find slice files, rows and turns by their words."),
        "list": Command("library.list_files", "find:list_files", "List slice files."),
        "info": Command("library.info", "find:info", "Show everything that is known about a file."),
        "recall": Command("library.recall", "recall:recall", "Print memory as a model should see it."),
        "explore": Command("library.explore", "explore:explore", "Follow the links around a file."),
        "stale": Command("library.stale", "find:stale", "List files that should be checked again."),
        "due": Command("library.due", "due:due", "List work that contracts ask for, and record it."),
        "routine": Command("library.routine", "recall:routine", "Compile a routine into steps to follow."),
        "context": Command("context", "context:context", "Build a cited context for a question."),
        "replay": Command("replay", "context:replay", "Print the bytes of a recorded context again."),
    },
    "History": {
        "import": Command("import_", "history:import_", "Import conversations of agents and chats, or a memory."),
        "export": Command("export", "history:export", "Write a session, a page of HTML, or the complete memory."),
        "turns": Command("graph.turns", "sessions:turns", "List sessions and turns, or search their content."),
        "show": Command("show", "sessions:show", "Show what a reference names."),
        "slice": Command("graph.select", "slice:slice_", "Select the context slice around a turn."),
        "policy": Command("policies", "policy:policy", "List, save, compare and copy policies of slices."),
        "atlas": Command("graph.atlas", "atlas:atlas", "Show which turns matter, by the slices around all of them."),
        "lost": Command("lost", "lost:lost", "Show what a compaction forgot, and bring it back."),
    },
    "Runs": {
        "run": Command("runs", "runs:run", "Log, compact and narrate the runs of agents."),
        "add": Command("add", "recall:add", "Add a folder of notes, or make a text document citable."),
        "cite": Command("cite", "recall:cite", "Put a piece of text into the evidence ledger."),
        "why": Command("why", "recall:why", "Show what a claim, file or context rests on."),
    },
    "Agents": {
        "hook": Command("hooks", "hooks:hook", "Let a coding agent call Slicebase as it works."),
        "agents-md": Command("agents_md", "workspace:agents_md", "Keep a block about the memory in AGENTS.md."),
        "mcp": Command(None, "mcp:mcp", "Serve this workspace to an agent over MCP."),
    },
    "Look": {
        "serve": Command(None, "serve:serve", "Show this workspace in a browser, with an HTTP API."),
    },
    "Check": {
        "validate": Command("validate", "check:validate", "Check slice files against the format."),
        "doctor": Command("doctor", "workspace:doctor", "Find what is wrong with the workspace, and fix it."),
        "verify": Command("verify", "check:verify", "Check that everything stored is unchanged."),
        "seal": Command("seal", "recall:seal", "Write the hashes of everything stored to a file for git."),
    },
}
LISTED: Mapping[str, Command] = {name: command for group in GROUPS.values() for name, command in group.items()}

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
    "allow-loop": "runs.allow_loop",
    "snapshot": "runs.snapshot",
    "narrative": "runs.narrative",
    "stop": "runs.stop",
    "fork": "runs.fork",
    "status": "runs.status",
    "report": "runs.report",
    "list": "runs.list_runs",
}

# The verbs of policies: `tt policy list` and so on.
POLICY_VERBS: Mapping[str, str] = {
    "list": "policies.list_policies",
    "show": "policies.show",
    "save": "policies.save",
    "diff": "policies.diff",
    "import": "policies.import_",
    "export": "policies.export",
}

# Commands that other programs call. They are not listed.
PLUMBING: Mapping[str, Command] = {
    "merge-driver": Command(None, "check:merge_driver", "Merge slice files for git."),
}
