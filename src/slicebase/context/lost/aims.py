"""What commands are for, and what they are applied to: by this, the success of one says something about another.

Commands with one purpose are a family: the same program with the same subcommand, target or script. What a command of
a family is applied to is known of those that build, check or install, or that are given files or names of what they
keep: the folders, files, packages, images and services that it names. A success with a folder is one with everything in
it, not the other way round.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from slicebase.context.lost.commands import (
    INTERPRETERS,
    MANY_TARGETS,
    RUNNERS,
    SCRIPT,
    class_of,
    name_set,
    name_table,
)
from slicebase.context.lost.program import base_name, command_words

ALL_OF_IT: Final = ""  # the target of a command that names none

_TWO_LEVELS: Final = name_set("gh glab aws az gcloud")  # their subcommands have subcommands
_SECOND_LEVEL: Final = name_set("compose image container volume network pip")  # as have these: `docker compose up`
_WITH_SUBCOMMANDS: Final = name_set("ruff golangci-lint pre-commit biome buf")  # among the programs that check or build
_INSTALLERS: Final = name_set(
    "pip pip3 pipx uv npm pnpm yarn bun brew apt apt-get dnf yum apk gem conda mamba poetry cargo go composer"
)
_INSTALLS: Final = name_set("install add i get require remove uninstall upgrade update")
_FETCHERS: Final = name_set("curl wget http https xh")
_METHOD: Final = re.compile(r"(?!GET)[A-Z]{3,7}")
# Programs that are given names of things that they keep, or files.
_KEEPERS: Final = name_set("kubectl helm docker docker-compose podman systemctl service")
# Options that name what a command is applied to, and options without a value. What follows any other is not known.
_TARGET_OPTIONS: Final = name_set(
    "-p --package --project -f --file --filename --filter -w --workspace -pl --manifest-path -r --requirement -e "
    "--editable -n --namespace"
)
_OPTIONS_OF_KEEPERS: Final = name_set("-f --file --filename -n --namespace")
_FLAGS: Final = name_set(
    "-v -vv -q -x -y -U -u -D -g -S -s -k -a -l -race --verbose --quiet --upgrade --yes --save-dev --dev --user "
    "--no-cache-dir --release --fix --check --write --strict --force --locked --offline --all --noEmit --all-targets "
    "--all-features --frozen-lockfile --cached -d --detach --build --rm -it --no-cache --"
)


def command_aims(simple: str) -> tuple[tuple[str, ...], ...]:
    """Returns the family of a command with each of its targets; alone where these are not known."""
    words = command_words(simple)
    if not words:
        return ()
    family = _family(words)
    targets = _targets(family, words, class_of(simple))
    name = " ".join(family)
    return tuple((name, target) for target in targets) or ((name,),)


def _family(words: Sequence[str]) -> tuple[str, ...]:
    program = re.sub(r"\A(python|pip)[\d.]+\Z", r"\1", base_name(words[0]))
    if program in _FETCHERS and (addresses := [word.strip("'\"") for word in words if "://" in word]):
        return program, *(word for word in words if _METHOD.fullmatch(word)), addresses[0]
    plain = [
        word
        for before, word in pairwise(words)
        if not word.startswith("-") and "=" not in word and before not in _TARGET_OPTIONS and not word.isdigit()
    ]
    if program in INTERPRETERS and (script := next((word for word in plain if SCRIPT.match(word)), None)):
        after = plain[plain.index(script) + 1 :] if base_name(script) in RUNNERS else []
        return program, base_name(script), *after[:1]
    if program in RUNNERS:
        plain = [word for word in plain if word not in ("run", "x", "r")]
    elif class_of(words[0]) in ("build", "check") and program not in _WITH_SUBCOMMANDS:
        return (program,)
    return program, *plain[: 2 if program in _TWO_LEVELS or (plain[:1] and plain[0] in _SECOND_LEVEL) else 1]


def _targets(family: tuple[str, ...], words: Sequence[str], what: str | None) -> list[str]:
    """Returns what a command is applied to; nothing if this is not known."""
    program, *subcommands = family
    installs = program in _INSTALLERS and not _INSTALLS.isdisjoint(subcommands)
    builds = what in ("build", "check") and program not in MANY_TARGETS
    keeps = program in _KEEPERS
    if not (installs or builds or keeps):
        return []
    found, is_known = list[str](), True
    for option, word in _given(words[1:], {*subcommands, "run", "x", "r"}):
        if not option or option in (_OPTIONS_OF_KEEPERS if keeps else _TARGET_OPTIONS):
            found.append(_package(word) if installs else path_of(word))
        else:
            is_known = False
    if keeps:
        found = [_TAG.sub("", name) for name in found if name]
    return found or ([ALL_OF_IT] if builds and is_known and program not in _IN_FOLDER else [])


def _package(word: str) -> str:
    """Returns the name of a package, also of one that is given by the address of its repository."""
    last = re.split(r"[#?]", word)[0].rstrip("/").rsplit("/", 1)[-1] if "://" in word else word
    return re.split(r"@|\.git\b", last)[0] if last is not word else _PACKAGE.split(word)[0]


_PACKAGE: Final = re.compile(r"(?<=[^=<>~!@\[])[=<>~!@\[]")  # a name ends before its version and its extras
_TAG: Final = re.compile(r":[\w.-]+\Z")  # the version of an image
_IN_FOLDER: Final = name_set("go docker")  # these build in the folder that they are called in


def _given(words: Sequence[str], subcommands: set[str]) -> Iterator[tuple[str, str]]:
    """Yields the words that a command is given, each with the option that it may be the value of."""
    option = ""
    for word in words:
        if word.startswith("-"):
            name, is_set, value = word.partition("=")
            option = "" if is_set or name in _FLAGS else name
            if is_set and name in _TARGET_OPTIONS:
                yield name, value.strip("'\"")
        elif option or word not in subcommands:
            yield option, word.strip("'\"")
            option = ""


def path_of(word: str) -> str:
    """Returns the path that a word names, in one form; nothing for everything, as in `./...`."""
    return re.sub(r"\A\./|/?\.\.\.\Z|/\Z", "", word).strip(".")


# Programs of one language. That one of them works says nothing about those of another language.
_LANGUAGES: Final[Mapping[str, frozenset[str]]] = name_table(
    python="pytest py.test tox nox unittest nose2 behave ruff mypy pyright pyre black isort flake8 pylint manage.py",
    javascript="npm pnpm yarn bun deno jest vitest mocha ava karma playwright cypress tsc webpack esbuild rollup vite "
    "next eslint prettier biome stylelint standard ng ember lerna nx turbo",
    go="go gotestsum golangci-lint gofmt goimports staticcheck",
    rust="cargo rustc rustfmt",
    jvm="gradle gradlew mvn mvnw javac kotlinc sbt ktlint",
    ruby="rspec minitest rubocop rails",
)


def language_of(simple: str) -> str:
    """Returns the language whose tools a command belongs to; nothing if it may be any, as with `make`."""
    words = command_words(simple)
    return next((language for language, names in _LANGUAGES.items() if words and base_name(words[0]) in names), "")


_NAMED_TESTS: Final = re.compile(r"\s-(?:run|k|t|-filter|-grep|-testNamePattern)[ =]('[^']*'|\"[^\"]*\"|\S+)")
_ALL_TESTS: Final = re.compile(
    r"run|x|r|t|tests?(?:[:_-](?:ci|all))?|check|nextest|discover|spec|manage\.py|\d+|\w+=.*"
)  # they name no test

_PATH: Final = re.compile(r"[/.$]|::")


def targets_of_tests(simple: str) -> tuple[str, ...]:
    """Returns what a test command tests: folders, files, and tests as `file::name`; one empty text for everything.

    Of a target such as `test:unit`, it is the target; of `cargo test parser`, what follows.
    """
    words = command_words(_NAMED_TESTS.sub(" ", simple))
    given = [(option, word) for option, word in _given(words[1:], set()) if not _ALL_TESTS.fullmatch(word)]
    runs_targets = bool(words) and base_name(words[0]) in RUNNERS
    paths = [path_of(word) for option, word in given if _PATH.search(word) or not (option or runs_targets)]
    if not paths and runs_targets:
        paths = [" ".join(word for _, word in given)]
    named = [match[1].strip("'\"^$") for match in _NAMED_TESTS.finditer(simple)]
    return tuple(f"{path}::{name}" for path in paths or [""] for name in named) if named else tuple(paths or [""])
