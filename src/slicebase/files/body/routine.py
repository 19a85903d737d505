"""Reads the steps of a routine, compiles them to Markdown, and returns a contract for readers.

Compiling runs nothing (§ Routine, ruling 30).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct

from slicebase.core.hashing import canonical
from slicebase.errors import SlicebaseError
from slicebase.files.body.lines import JsonLine, read_lines
from slicebase.files.findings import Finding, shown
from slicebase.files.slice_file import SliceFile

# Steps

StepKind = Literal["instruction", "read", "run"]

STEP_KINDS: Final[tuple[StepKind, ...]] = ("instruction", "read", "run")
_KEYS: Final = frozenset({*STEP_KINDS, "args", "note", "requirements", "_meta"})


class RoutineStep(Struct, frozen=True):
    """A step of a routine."""

    kind: StepKind
    what: str  # the instruction, or the name of what the step reads or runs
    args: Any
    note: str | None
    requirements: tuple[str, ...]
    line: JsonLine


class Routine(NamedTuple):
    """The steps of a routine, and the findings about its lines."""

    steps: tuple[RoutineStep, ...]
    findings: tuple[Finding, ...]


def read_routine(body: bytes, first_line: int = 1, file: str = "") -> Routine:
    """Returns the steps of a routine body and the findings about them. `first_line` is its line in the file."""
    lines, unreadable = read_lines(body, first_line, file)
    findings = list(unreadable)
    steps = [step for line in lines if (step := _read_step(line, findings)) is not None]
    return Routine(tuple(steps), tuple(findings))


def _read_step(line: JsonLine, findings: list[Finding]) -> RoutineStep | None:
    value = line.value
    kinds = [kind for kind in STEP_KINDS if kind in value]
    if len(kinds) != 1:
        message = f"the step has {' and '.join(kinds)}" if kinds else f"the step has no {', '.join(STEP_KINDS)}"
        findings.append(
            line.finding("routine-step", message, hint=f"a step has exactly one of {', '.join(STEP_KINDS)}")
        )
        return None
    kind = kinds[0]
    if not isinstance(value[kind], str) or not value[kind].strip():
        findings.append(line.finding("routine-step", f"`{kind}` is {shown(value[kind])}, not text", kind))
        return None
    findings.extend(_extra_findings(line, kind))
    note = value.get("note")
    return RoutineStep(
        kind=kind,
        what=value[kind],
        args=value.get("args") if kind == "run" else None,
        note=note if isinstance(note, str) and note.strip() else None,
        requirements=_requirements(value.get("requirements")),
        line=line,
    )


def _extra_findings(line: JsonLine, kind: StepKind) -> Iterator[Finding]:
    value = line.value
    if "args" in value and kind != "run":
        yield line.finding("routine-step", f"only a `run` step may have `args`, and this one has `{kind}`", "args")
    if not isinstance(value.get("note", ""), str):
        yield line.finding("routine-step", f"`note` is {shown(value['note'])}, not text", "note")
    if "requirements" in value and not _is_requirements(value["requirements"]):
        message = f"`requirements` is {shown(value['requirements'])}, not text or a list of texts"
        yield line.finding("routine-step", message, "requirements")
    for key in value:
        if key not in _KEYS:
            hint = f"a step has one of {', '.join(STEP_KINDS)}, and may have args, note and requirements"
            yield line.finding("routine-key", f"`{key}` has no meaning in a step", key, hint=hint)


def _is_requirements(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _requirements(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(item for item in items if isinstance(item, str) and item.strip())


# Compiling


def compile_routine(
    title: str, summary: str, steps: Sequence[RoutineStep], title_of: Callable[[str], str | None]
) -> str:
    """Returns the routine as Markdown for an agent to follow: first the requirements, then the numbered steps.

    `title_of` returns the title of the file that a step reads or runs, None if there is no such file.
    """
    blocks = [f"# {_one_line(title)}", _one_line(summary)]
    required = _all_requirements(steps)
    if required:
        blocks += ["## Requirements", "\n".join(_item(text, places) for text, places in required.items())]
    blocks.append("## Steps")
    for number, step in enumerate(steps, 1):
        marker = f"{number}. "
        blocks.append(_indented(marker, "\n\n".join(_step_blocks(step, title_of))))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _all_requirements(steps: Sequence[RoutineStep]) -> dict[str, list[int]]:
    """Returns each requirement once, in the order of the steps, with the numbers of the steps that name it."""
    places: dict[str, list[int]] = {}
    for number, step in enumerate(steps, 1):
        for text in step.requirements:
            places.setdefault(text.strip(), []).append(number)
    return places


def _item(text: str, places: Sequence[int]) -> str:
    numbers = ", ".join(str(number) for number in dict.fromkeys(places))
    return _indented("- ", f"{text} (step{'s' if ',' in numbers else ''} {numbers})")


def _step_blocks(step: RoutineStep, title_of: Callable[[str], str | None]) -> Iterator[str]:
    yield (
        _without_ends(step.what) if step.kind == "instruction" else f"{_VERBS[step.kind]}{_named(step.what, title_of)}"
    )
    if step.args not in (None, [], {}, ""):
        yield f"Arguments:\n\n{_arguments(step.args)}"
    if step.note:
        yield f"Note: {step.note.strip()}"


_VERBS: Final[Mapping[str, str]] = {"read": "Read", "run": "Run"}


def _named(what: str, title_of: Callable[[str], str | None]) -> str:
    title = title_of(what)
    name = f" {_code(what)}" if "\n" not in what else f":\n\n{_fenced(what)}"
    return f"{name}: {_one_line(title)}" if title else name


def _arguments(args: Any) -> str:
    if isinstance(args, dict):
        return "\n".join(f"- {_code(name)}: {_code(_written(value))}" for name, value in args.items())
    return "\n".join(f"- {_code(_written(value))}" for value in (args if isinstance(args, list) else [args]))


def _written(value: Any) -> str:
    """Returns a printable text as it is, and anything else as canonical JSON."""
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value
    try:
        return canonical(value).decode()
    except SlicebaseError:  # an integer that canonical JSON refuses
        return repr(value)


def _code(text: str) -> str:
    """Returns a code span whose backticks are more than any inside it."""
    marks = _longer_than_inside(text, 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{marks}{space}{text}{space}{marks}"


def _fenced(text: str) -> str:
    marks = _longer_than_inside(text, 3)
    return f"{marks}\n{_without_ends(text)}\n{marks}"


def _without_ends(text: str) -> str:
    """Returns a text without blank lines around it. Its first line keeps its indentation."""
    return re.sub(r"\A(?:[^\S\n]*\n)+", "", text.rstrip())


def _longer_than_inside(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(longest + 1, least)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _indented(marker: str, text: str) -> str:
    """Returns a list item whose further lines are indented under its first."""
    first, *others = text.split("\n")
    margin = " " * len(marker)
    return "\n".join([marker + first, *(margin + line if line.strip() else "" for line in others)])


# Contracts (§ Contract)


def contract_as_json(file: SliceFile, title_of: Callable[[str], str | None]) -> dict[str, Any]:
    """Returns the contract with the target file of each excluded topic, None if no link names one."""
    stated = file.contract
    routes = {plain(link.label): link.to for link in file.links if link.rel == "routes_to" and link.label}
    exclude = []
    for topic in stated.exclude:
        to = routes.get(plain(topic))
        exclude.append({"topic": topic, "to": to, "title": title_of(to) if to else None})
    return {
        "purpose": stated.purpose,
        "exclude": exclude,
        "format": stated.format,
        "cleanup": stated.cleanup,
        "write": stated.write,
        "overflow": stated.overflow,
    }


def plain(topic: str) -> str:
    """Returns a topic in the form in which topics are compared: without differences of case and spacing."""
    return " ".join(topic.casefold().split())
