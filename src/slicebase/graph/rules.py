"""What the default annotator goes by: a table that a person can read and a project can replace (ruling 17).

A row applies to a turn when its role is one of the row's roles, the turn has all the row's marks, and one of the row's
phrases was said, word for word. What a row leaves empty it does not ask.

Marks of a turn:

    call, result      it calls a tool; it is what a tool gave back
    error             a tool, or the assistant's service, reports a failure
    tool-only         nothing was said or thought: calls and results alone
    code              it holds code
    hidden            its source does not show it
    brief             a few words
    question          it asks something
    figures           it holds a number
    root              it hangs on nothing
    below-debugging   what it hangs on is debugging
"""

from typing import Final

from msgspec import Struct

from slicebase.graph.turn import Phase, Role

_SAID: Final[tuple[Role, ...]] = ("user", "assistant")


class Row(Struct, frozen=True):
    """What a turn must be like."""

    roles: tuple[Role, ...] = ()
    marks: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()


class PhaseRow(Row, frozen=True, kw_only=True):
    """The first row that applies gives the phase."""

    phase: Phase


class SalienceRow(Row, frozen=True, kw_only=True):
    """Every row that applies adds its hundredths."""

    adds: int


class Rules(Struct, frozen=True):
    """Salience, in hundredths, is `base`, `novelty` by the number of new words, and what the rows add."""

    annotator: str  # name/version: other rules need another name
    phases: tuple[PhaseRow, ...]
    otherwise: Phase
    base: int
    novelty: int  # for a turn that brings `full_novelty` new words, less for fewer
    full_novelty: int
    salience: tuple[SalienceRow, ...]


# What is said when something was …
DECIDED: Final = (
    "decision", "decisions", "we decided", "i decided", "i've decided", "we agreed", "we have decided", "decided to",
    "decided on", "decided that", "let's go with", "let's use", "let's keep", "let's drop", "we'll use", "we will use",
    "we'll keep", "we should use", "we must use", "we will not", "we won't",
)  # fmt: skip
CORRECTED: Final = (
    "actually", "that's wrong", "that is wrong", "that's not", "not what", "you're right", "you are right",
    "my mistake", "i was wrong", "scratch that", "instead",
)  # fmt: skip
UNDERSTOOD: Final = (
    "root cause", "found the cause", "found the problem", "found the issue", "found the bug", "here's the problem",
    "here's the issue", "the cause is", "the cause was", "the reason is", "the problem is", "the problem was",
    "this means", "that means", "which means", "this explains", "that explains", "which explains", "turns out",
    "in other words", "key insight", "key idea", "key point", "key difference", "therefore", "i suggest", "i'd suggest",
    "i would suggest", "i recommend", "i'd recommend", "i would recommend", "trade off", "tradeoff", "in conclusion",
)  # fmt: skip
FAILED: Final = (
    "traceback", "exception", "exceptions", "stack trace", "stacktrace", "error", "errors", "failure", "failures",
    "fails", "failed", "failing", "flaky", "bug", "bugs", "broken", "crash", "crashes", "crashed", "crashing", "debug",
    "debugging", "doesn't work", "does not work", "not working", "reproduce", "reproduced", "regression",
)  # fmt: skip
PLANNED: Final = (
    "plan", "next step", "next steps", "todo", "todos", "to do list", "roadmap", "we should", "we need to", "milestone",
    "milestones", "requirement", "requirements", "proposal", "i propose",
)  # fmt: skip
SUMMED_UP: Final = (
    "in summary", "in short", "to sum up", "to summarize", "to summarise", "to recap", "summary of", "a summary",
    "updated summary", "an overview", "recap", "tldr", "tl dr", "here's what i", "what i did", "what i changed",
    "what we did",
)  # fmt: skip
RULES: Final = Rules(
    annotator="rules/1",
    phases=(
        PhaseRow(phase="consolidation", roles=("system",)),  # ruling 18
        PhaseRow(phase="debugging", marks=("error",)),
        PhaseRow(phase="debugging", marks=("tool-only", "below-debugging")),
        PhaseRow(phase="exploration", marks=("tool-only",)),
        PhaseRow(phase="planning", roles=("user",), marks=("root",)),  # it sets the goal
        PhaseRow(phase="consolidation", roles=("assistant",), phrases=SUMMED_UP),
        PhaseRow(phase="synthesis", roles=("assistant",), phrases=UNDERSTOOD),
        PhaseRow(phase="planning", roles=_SAID, phrases=DECIDED),
        PhaseRow(phase="debugging", roles=_SAID, phrases=FAILED),
        PhaseRow(phase="planning", roles=_SAID, phrases=PLANNED),
    ),
    otherwise="exploration",
    base=15,
    novelty=50,
    full_novelty=20,
    salience=(
        SalienceRow(adds=10, roles=("user",)),
        SalienceRow(adds=25, roles=_SAID, phrases=DECIDED),
        SalienceRow(adds=15, roles=("user",), phrases=CORRECTED),
        SalienceRow(adds=15, roles=("assistant",), phrases=UNDERSTOOD),
        SalienceRow(adds=10, roles=("user",), marks=("figures",)),
        SalienceRow(adds=10, marks=("error",)),
        SalienceRow(adds=-10, marks=("tool-only",)),
        SalienceRow(adds=-10, marks=("brief",)),
        SalienceRow(adds=-15, marks=("hidden",)),
    ),
)
