"""By which words and tools the items of a transcript are recognised: tables that a person can read (docs/lost.md)."""

import re
from typing import Final, Literal, get_args

from slicebase.context.sentences import says
from slicebase.graph.annotate import CORRECTED, DECIDED, words_in

Kind = Literal["decision", "instruction", "task", "error", "test", "file", "command"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

DECISIONS: Final = (
    *DECIDED, "i'll go with", "we'll go with", "i went with", "went with", "going with", "settled on", "opted for",
    "i chose", "we chose", "chose to", "agreed to", "agreed on", "agreed that",
)  # fmt: skip
# "Instead" corrects at the end of a sentence; elsewhere it compares.
CORRECTIONS: Final = (
    *(phrase for phrase in CORRECTED if phrase != "instead"),
    "revert",
    "undo",
    "i said",
    "i told you",
)
ASKED: Final = (
    "always", "never", "don't", "do not", "must", "mustn't", "make sure", "ensure", "please", "should", "shouldn't",
    "need", "needs", "want", "can you", "can we", "could you", "could we", "would you", "let's", "only", "avoid",
    "prefer", "remember", "before you", "no need", "not allowed", "from now on",
)  # fmt: skip
ORDERS: Final = frozenset(
    {
        "add", "adjust", "allow", "apply", "ask", "build", "bump", "call", "change", "check", "clean", "commit",
        "compare", "continue", "convert", "copy", "create", "cut", "delete", "deploy", "describe", "disable", "do",
        "document", "drop", "enable", "explain", "extend", "find", "finish", "fix", "format", "give", "go", "handle",
        "hide", "implement", "improve", "include", "investigate", "keep", "leave", "list", "look", "merge", "migrate",
        "move", "open", "pin", "port", "prepare", "print", "push", "put", "read", "rebase", "redo", "refactor",
        "remove", "rename", "repeat", "replace", "rerun", "restore", "review", "rewrite", "run", "set", "show",
        "simplify", "skip", "sort", "split", "start", "support", "switch", "take", "tell", "tidy", "treat", "try",
        "turn", "undo", "update", "upgrade", "use", "validate", "verify", "wait", "wire", "wrap", "write",
    }
)  # fmt: skip
OPEN: Final = (
    "todo", "still to do", "still need to", "still needs to", "still have to", "left to do", "remaining work",
    "for later", "come back to", "follow up", "not done yet", "next step", "next steps",
)  # fmt: skip
# What a client writes in the user's name.
INJECTED: Final = re.compile(
    r"\s*(?:<(?:command-|local-command|system-reminder|bash-|task-|user-|ide_|environment_)|\[Request interrupted|"
    r"Caveat: The messages below|This session is being continued|If you need specific details from before)"
)
# Tools that read or write one file, by name; the argument that names it is the first of these.
FILES: Final = {
    **dict.fromkeys(("read", "read_file", "view", "view_image", "notebookread"), "read"),
    **dict.fromkeys(("edit", "multiedit", "write", "notebookedit", "write_file", "edit_file", "replace"), "written"),
    **dict.fromkeys(("create_file", "str_replace_editor", "str_replace_based_edit_tool"), "written"),
}
PATHS: Final = ("file_path", "path", "absolute_path", "notebook_path", "target_file", "filename")
PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
# Tools that write a whole list of tasks: where the list is, and where an entry has its words.
LISTS: Final = {
    "todowrite": ("todos", "content"),
    "write_todos": ("todos", "description"),
    "update_plan": ("plan", "step"),
}
DONE: Final = frozenset({"completed", "done", "cancelled", "canceled", "deleted"})
TASK_NUMBER: Final = re.compile(r"Task #(\w+)")

REFUSED: Final = re.compile(
    r"(?:user|person) (?:doesn't|does not|didn't) want to|rejected by (?:the )?user", re.IGNORECASE
)
REASON: Final = re.compile(r"the user (?:said|provided the following reason[^:]*):\s*(.+)", re.DOTALL | re.IGNORECASE)
CORRECTION: Final[tuple[Kind, str]] = ("instruction", "correction")


def kind_of_sentence(text: str, *, by_user: bool) -> tuple[Kind, str] | None:
    is_question = text.endswith("?")
    if not is_question and says(text, DECISIONS):
        return "decision", "by the user" if by_user else "by the assistant"
    if by_user and (says(text, CORRECTIONS) or words_in(text)[-1:] == ["instead"]):
        return CORRECTION
    if by_user and (is_question or says(text, ASKED) or _first_word(text) in ORDERS):
        return "instruction", "asked"
    return ("task", "said") if not is_question and says(text, OPEN) else None


def _first_word(text: str) -> str:
    match = re.match(r"[^\W\d]+", text)
    return match[0].lower() if match else ""
