"""Tells texts that begin with a dash from options: `tt remember ID "- a bullet"` writes a bullet.

An option is a dash and a letter, or two dashes and a word without spaces. Everything else that begins with a dash is a
text. An option that the command does not have is an error, never a text: somebody mistyped it. A command that takes a
query reads `-word`, a dash and at least two letters, as a word to leave out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import click

# Patterns are compiled on first use, for a fast start: most arguments need none.
_LONG = r"(?s:--[A-Za-z][A-Za-z0-9_-]*(=.*)?)"
_SHORT = r"-[A-Za-z]+"
_EXCLUDED = r"-[A-Za-z]{2}"
TAKE_QUERIES = frozenset({"search", "context", "turns"})


def arranged(ctx: click.Context, command: click.Command, arguments: list[str]) -> list[str]:
    """Returns the arguments of a command so that click reads each text as a text: options first, then the others.

    Arguments without such a text are returned as they are.
    """
    options = {name: option for option in command.get_params(ctx) for name in (*option.opts, *option.secondary_opts)}
    is_query = command.name in TAKE_QUERIES
    taken: list[str] = []
    others: list[str] = []
    waiting = list(arguments)
    while waiting:
        each = waiting.pop(0)
        if each == "--":
            others += waiting
            break
        if not _is_option(each, options) or (is_query and re.match(_EXCLUDED, each)):
            others.append(each)
            continue
        values = _values_after(each, options, waiting)
        taken += [each, *waiting[:values]]
        del waiting[:values]
    if not any(_begins_with_dash(each) for each in others):
        return arguments
    return [*taken, "--", *others]


def _begins_with_dash(text: str) -> bool:
    return text.startswith("-") and text != "-"


def _is_option(given: str, options: Mapping[str, click.Parameter]) -> bool:
    if not _begins_with_dash(given):
        return False
    if given.startswith("--"):
        return re.fullmatch(_LONG, given) is not None or _is_meant_as_option(given, options)
    is_known = given[:2] in options and not any(map(str.isspace, given))
    return is_known or re.fullmatch(_SHORT, given) is not None


def _is_meant_as_option(given: str, options: Mapping[str, click.Parameter]) -> bool:
    """Returns whether a text begins with an option of the command, or almost: `"--secton Monday"` in one argument."""
    first = given.split(maxsplit=1)[0]
    return any(name.startswith("--") and _is_almost(first, name) for name in options)


def _is_almost(one: str, other: str) -> bool:
    """Returns whether two words are the same but for one letter, or for two letters that changed places."""
    from slicebase.core.short_ids import shared

    start = shared(one, other)
    end = shared(one[start:][::-1], other[start:][::-1])
    left, right = one[start : len(one) - end], other[start : len(other) - end]
    return max(len(left), len(right)) <= 1 or (len(left) == len(right) == 2 and left == right[::-1])


def _values_after(given: str, options: Mapping[str, click.Parameter], following: Sequence[str]) -> int:
    """Returns how many of the following arguments are values of an option."""
    for name, has_value in _named(given):
        option = options.get(name)
        if not isinstance(option, click.Option) or option.is_flag or option.count:
            continue
        if getattr(option, "_flag_needs_value", False):  # its value may be left out
            return int(not has_value and bool(following) and not _begins_with_dash(following[0]))
        return option.nargs - has_value
    return 0


def _named(given: str) -> Iterator[tuple[str, bool]]:
    """Yields the options that an argument names, and whether the value is in the same argument."""
    if given.startswith("--"):
        name, equals, _ = given.partition("=")
        yield name, bool(equals)
        return
    for at, letter in enumerate(given[1:], 2):
        yield f"-{letter}", len(given) > at


# Queries


def as_query(given: Sequence[str]) -> str:
    """Returns the arguments of a command as one query. A single argument is the query as it was typed."""
    return given[0] if len(given) == 1 else as_filters(given)


def as_filters(given: Sequence[str]) -> str:
    """Returns arguments as a query in which one that begins with a filter is this filter to its end.

    The shell has taken the quotation marks of `project:"my app"`.
    """
    return " ".join(map(_filter_with_spaces, given))


def _filter_with_spaces(given: str) -> str:
    if ":" not in given:
        return given
    from slicebase.context.query import FILTERS  # imported here: a command with an option, too, loads this module

    names = "|".join(FILTERS)
    match = re.fullmatch(rf'(-?(?:{names})):(?!")(\S+\s[^"]*)', given)
    return f'{match[1]}:"{match[2]}"' if match and not re.search(rf"\s-?(?:{names}):", match[2]) else given
