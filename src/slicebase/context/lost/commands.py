"""Which commands are needed again: those that test, build, check, or call a tool of the project.

A command that changes something outside the checkout (it deletes, deploys, sends, pushes …) is never one of them: an
agent that reads it could run it a second time. Of a program that reaches other machines, only commands that look are
taken; of all others, those whose verbs change nothing outside. What is not known is left out.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from slicebase.context.lost.program import base_name, command_words
from slicebase.context.lost.shell import Pipeline, pipelines

CommandClass = Literal["test", "build", "check", "call"]
COMMAND_CLASSES: Final[tuple[CommandClass, ...]] = ("test", "build", "check", "call")


def name_set(words: str) -> frozenset[str]:
    """Returns the names in a text, between which there is white space."""
    return frozenset(words.split())


def name_table(**names: str) -> dict[str, frozenset[str]]:
    """Returns sets of names by what they are for."""
    return {name: name_set(words) for name, words in names.items()}


# Programs with one purpose.
_PROGRAMS: Final[Mapping[str, frozenset[str]]] = name_table(
    test="pytest py.test tox nox jest vitest mocha ava karma ctest rspec minitest phpunit pest unittest playwright "
    "cypress behave robot bats nose2 gotestsum",
    check="ruff mypy pyright pyre eslint prettier black isort flake8 pylint golangci-lint gofmt goimports staticcheck "
    "shellcheck hadolint pre-commit rubocop biome stylelint clang-format clang-tidy cppcheck ktlint swiftlint "
    "swiftformat yamllint markdownlint codespell semgrep bandit phpstan psalm luacheck rustfmt standard",
    build="tsc webpack esbuild rollup cmake ninja meson gcc g++ clang clang++ cc rustc javac kotlinc ghc xcodebuild "
    "protoc latexmk sphinx-build build",
    call="uvicorn gunicorn celery alembic streamlit jupyter",
)
# Programs that run what a project defines, or do several things by a subcommand.
RUNNERS: Final = name_set(
    "make gmake just task mise rake npm pnpm yarn bun deno nx turbo gradle gradlew mvn mvnw cargo go dotnet swift mix "
    "bazel sbt zig stack cabal composer flutter dart rails poe invoke inv hatch pdm vite next docker lerna ember ng "
    "manage.py artisan flask django-admin terraform west pio idf.py arduino-cli dbt forge"
)
MANY_TARGETS: Final = frozenset(["make", "gmake", "just", "task", "rake", "gradle", "gradlew", "mvn", "mvnw"])
_TARGETS: Final[tuple[tuple[CommandClass, re.Pattern[str]], ...]] = (
    ("test", re.compile(r"(?:^|[:_./-])(?:tests?|spec|specs|nextest|e2e|t\Z)(?=\Z|[:_./-])")),
    (
        "check",
        re.compile(r"(?:^|[:_./-])(?:lint|fmt|format|check|typecheck|vet|clippy|ci|validate|credo)(?=\Z|[:_./-])"),
    ),
    ("build", re.compile(r"(?:^|[:_./-])(?:build|compile|bundle|generate|package|dist)(?=\Z|[:_./-])")),
)
# Subcommands that install or look, of programs that otherwise run targets.
_NO_TARGETS: Final = name_set(
    "install i ci add remove uninstall get mod list ls init new version help info doc env use outdated tree why "
    "upgrade update sync lock trust which exec ps images logs pull login cache config outdated search show"
)
# Languages whose programs are scripts of the project.
INTERPRETERS: Final = name_set(
    "bash sh zsh node python python2 python3 ruby perl php lua rscript tsx ts-node pwsh elixir java deno bun"
)
_SHELLS: Final = name_set("bash sh zsh dash")
SCRIPT: Final = re.compile(r"[\w./~@+-]*[\w-]\.(?:sh|py|js|mjs|cjs|ts|rb|pl|php|lua|r|ps1|exs|jar)\Z", re.IGNORECASE)
_OWN_PROGRAM: Final = re.compile(r"(?:\./)?[\w@+-][\w.@+-]*(?:/[\w.@+-]+)+\Z|\./[\w.@+-]+\Z")

# Words for what changes something outside the checkout. They are looked for in subcommands, targets, names of scripts
# and addresses, also in a few other languages: a script has the name that its team gives it.
_CHANGES: Final = name_set(
    "delete destroy drop apply push create post put patch send mail email restart stop deploy redeploy rollout "
    "rollback downgrade down undo publish release upload ship promote remove rm purge wipe truncate reset revoke "
    "terminate kill migrate stamp stage merge close comment approve notify announce invite pay charge refund "
    "provision teardown flush prune seed restore sync submit register unregister scale drain cordon trigger "
    "dispatch cancel revert insert import cleanup sendmail loaddata reboot shutdown poweroff transfer payment "
    "payments payout payouts payroll billing newsletter broadcast tweet sms buy sell trade withdraw subscribe "
    "unsubscribe ban suspend revision rotate emails mails createsuperuser prod production überweisen "
    "ueberweisen überweisung ueberweisung löschen loeschen senden versenden zahlen buchen mahnen verschicken "
    "veröffentlichen envoyer supprimer effacer payer publier enviar borrar eliminar pagar publicar inviare "
    "cancellare pagare eliminare upgrade update backfill recreate activate deactivate flash erase"
)
_INSISTS: Final = re.compile(
    r"\A(?:--?(?:force|yes|really|confirm|no-dry-run|execute|commit|broadcast|full-refresh|auto-approve|hard|prod|production)|-[yf])(?:=.*)?\Z|"
    r"\A(?:[\w-]+=)?['\"]?(?:prod|production|live)['\"]?\Z",
    re.IGNORECASE,
)
# Variables that aim a script at what is live, or say that it is meant.
_LIVE: Final = re.compile(r"(?<![\w$-])\w+=['\"]?(?:prod|production|live)\b", re.IGNORECASE)
_MEANT: Final = re.compile(
    r"(?<![\w$-])(?:\w*_)?(?:(?:FORCE|CONFIRM|YES|REALLY)=['\"]?(?:1|y|yes|true)|DRY_?RUN=['\"]?(?:0|n|no|false))\b",
    re.IGNORECASE,
)
# Programs that reach other machines or shared data: the subcommands that only look.
_LOOKS: Final[Mapping[str, frozenset[str]]] = name_table(
    kubectl="get describe logs top explain diff events version api-resources",
    helm="list ls status get history template lint show version",
    terraform="plan validate show output fmt version",
    gh="view list status checks diff watch search",
    glab="view list status diff",
    aws="ls describe list get head",
    gcloud="list describe read",
    az="list show",
    heroku="logs ps info releases",
    fly="status logs list",
    flyctl="status logs list",
    vercel="ls list inspect logs",
    systemctl="status show list-units is-active",
    journalctl="",
    docker="ps images logs inspect version info build run exec compose",
)
_CLOUDS: Final = name_set("kubectl helm aws gcloud az")
_REMOTE_LOOKS: Final = re.compile(
    r"(?:ls|cat|tail|head|grep|rg|find|ps|df|du|free|uptime|journalctl|wc|stat|hostname|whoami|date|env|"
    r"systemctl status|docker (?:ps|logs))\b"
)
_WRITES: Final = re.compile(r">(?!\s*(?:/dev/null|&))")
_SQL_CHANGES: Final = re.compile(
    r"(?<![a-z])(?:insert|update|delete|drop|alter|create|truncate|grant|revoke|copy|merge|replace|call|do|terminate|"
    r"kill|cancel|send|refresh|vacuum|into)(?![a-z])",
    re.IGNORECASE,
)
_SQL_LOOKS: Final = re.compile(
    r"\b(?:select|explain|show|describe|pragma|with)\b|\\d|\.(?:schema|tables)", re.IGNORECASE
)
_SENDS: Final = re.compile(
    r"\s(?:-X\s*['\"]?(?!GET|HEAD)[A-Z]+|--request[ =]['\"]?(?!GET|HEAD)[A-Z]+|-d\b|--data\S*|-F\b|--form\S*|-T\b|"
    r"--upload-file|--json)"
)
_POSTS: Final = re.compile(r"\s(?:(?:-X|--method)[ =]?(?!GET)[A-Z]+|-[fF]\b|--(?:raw-)?field|--input)")


_GIT_CHANGES: Final = name_set(
    "push reset clean rebase filter-repo filter-branch revert stash checkout switch restore commit merge cherry-pick am"
)


class NeededCommand(NamedTuple):
    """A line or a pipeline of a script that is needed again: its class, its span, and its simple commands."""

    what: CommandClass
    start: int
    end: int
    simple: tuple[str, ...]


def needed_again(script: str) -> list[NeededCommand]:
    """Returns what of a script is needed again; nothing of one that only looks around, or changes something.

    It is the complete lines that test, build, check or call. If something in the script changes things, it is only
    the pipelines that are needed.
    """
    found = pipelines(script)
    changes = any(changes_things(stage) for each in found for stage in each.stages)
    is_live, is_meant = _LIVE.search(script), _MEANT.search(script)
    spans: dict[tuple[int, int], list[tuple[CommandClass, str]]] = {}
    for each in found if not is_meant else ():
        if (what := command_class(each)) and (what == "build" or not is_live):
            span = (each.start, each.end) if changes else _line_around(script, each)
            spans.setdefault(span, []).append((what, each.first))
    return [
        NeededCommand(
            min((what for what, _ in known), key=COMMAND_CLASSES.index), *span, tuple(one for _, one in known)
        )
        for span, known in spans.items()
    ]


def _line_around(script: str, pipeline: Pipeline) -> tuple[int, int]:
    start = script.rfind("\n", 0, pipeline.start) + 1
    end = script.find("\n", pipeline.end)
    line = script[start : end if end >= 0 else len(script)]
    return start + len(line) - len(line.lstrip()), start + len(line.rstrip())


def command_class(pipeline: Pipeline) -> CommandClass | None:
    """Returns what a pipeline is needed again for; None if it is not, or if a part of it changes things."""
    if any(changes_things(stage) for stage in pipeline.stages):
        return None
    return class_of(pipeline.first)


_NARROW: Final = re.compile(
    r"\s-(?:run|k|t|-filter|-grep|-testNamePattern)[ =]|::|_test\.\w+|\btest_\w+|\.(?:test|spec)\."
)


def is_narrow(simple: str) -> bool:
    """Returns whether a command runs one test or a few."""
    return _NARROW.search(simple) is not None


def shape(simple: str) -> str:
    """Returns what commands have in common that differ only in their arguments: program, subcommand and flags."""
    words = re.sub(r"\"[^\"]*\"|'[^']*'", "", simple).split()
    return " ".join([*words[:2], *(word.partition("=")[0] for word in words[2:] if word.startswith("-"))])


# Changes


def changes_things(command: str) -> bool:
    """Returns whether a simple command changes or may change something that cannot be done twice without harm."""
    words = command_words(command)
    if not words:
        return False
    program = base_name(words[0])
    if program in ("rm", "mv", "dd", "shred", "scp", "rsync", "kill", "pkill", "killall", "sendmail", "mail"):
        return True
    if program == "git":
        return _subcommand(words) in _GIT_CHANGES
    if program in _SHELLS and not any(SCRIPT.match(word) or "/" in word for word in words[1:]):
        return True  # what it is given is not known, as in `curl … | bash`
    if program in ("ssh", "mosh"):
        remote = [stage for each in pipelines(_after_host(words)) for stage in each.stages]
        writes = _WRITES.search(_after_host(words)) is not None
        return writes or not remote or not all(map(_REMOTE_LOOKS.match, remote))
    if program in ("psql", "mysql", "sqlite3", "redis-cli", "mongosh", "mongo", "sqlcmd", "duckdb"):
        return not _SQL_LOOKS.search(command) or bool(_SQL_CHANGES.search(command))
    if program in ("curl", "wget", "http", "httpie", "xh"):
        asks = {part for word in words[1:] if "/" in word for part in re.split(r"[\W\d_]+", word.lower())}
        return bool(_SENDS.search(command)) or program in ("http", "httpie", "xh") or not asks.isdisjoint(_CHANGES)
    if program == "gh" and words[1:2] == ["api"]:
        return "mutation" in command if "graphql" in words else bool(_POSTS.search(command))
    if program in _LOOKS and program not in ("docker", "terraform"):
        return not _is_look(program, words)
    is_elsewhere = _ELSEWHERE.search(command) is not None and class_of(command) in ("test", "call")
    return is_elsewhere or _has_changing_verb(program, words)


def looks_elsewhere(command: str) -> bool:
    """Returns whether a command asks a cluster or a cloud for something: that it is not there is no error."""
    words = command_words(command)
    program = base_name(words[0]) if words else ""
    return program in _CLOUDS and _is_look(program, words)


def _is_look(program: str, words: Sequence[str]) -> bool:
    looks = _LOOKS[program]
    plain = [word for word in words[1:4] if not word.startswith("-")]
    return not looks or any(word in looks or word.split("-")[0] in looks for word in plain)


def _has_changing_verb(program: str, words: Sequence[str]) -> bool:
    if program in ("tox", "nox"):
        return not _CHANGES.isdisjoint(words)
    if any(program in names for what, names in _PROGRAMS.items() if what != "call"):
        return False
    said = [word.strip("'\"") for word in words if "=" not in word.lstrip("-")[:20] or _INSISTS.match(word)]
    if program in RUNNERS:  # their own flags are about how they run
        own = _own_words(program, words)
        said = [word for word in said if not word.startswith("-") or word in own]
        said += [word.partition("=")[2] for word in words if _TARGET_FLAG.match(word)]
        if _target_class(words) == "test":  # other words are names of tests, or further targets
            is_live = any(_AT_LIVE.search(word) for word in words[1:3])
            return is_live or (program in MANY_TARGETS and not _CHANGES.isdisjoint(said))
    parts = (part for word in said for part in re.split(r"[\W\d_]+", _apart(base_name(word))))
    return any(part in _CHANGES for part in parts) or any(_INSISTS.match(word) for word in said[1:])


# The address of another machine: what a script or a test does there is not known.
_ELSEWHERE: Final = re.compile(
    r"\b(?:https?|wss?|ftps?|amqps?|redis|postgres(?:ql)?|mysql|mongodb)(?:\+\w+)?://(?:[^\s/@'\"]*@|(?![^\s/@'\"]*@))"
    r"(?!localhost\b|127\.|0\.0\.0\.0|\[::1?\]|host\.docker\.internal|[\w.-]+\.(?:localhost|local|test)\b)",
    re.IGNORECASE,
)
_AT_LIVE: Final = re.compile(r"[:_-](?:prod|production|live)\Z", re.IGNORECASE)  # `npm run test:prod`
_TARGET_FLAG: Final = re.compile(r"--targets?=")


def _own_words(program: str, words: Sequence[str]) -> Sequence[str]:
    """Returns the words that are for the program that a runner runs: `go run ./cmd/x …`, `npm run x -- …`."""
    if "--" in words:
        return words[words.index("--") + 1 :]
    if program in ("forge", "dbt"):  # what they do is in their flags: to send it, and to make tables again
        return words[1:]
    return words[2:] if program in ("go", "deno", "bun") and "run" in words[1:2] else ()


def _after_host(words: Sequence[str]) -> str:
    """Returns the command that `ssh` runs on another machine, without quotation marks."""
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in ("-i", "-p", "-l", "-o", "-J", "-F") else 1]
    return " ".join(rest[1:]).strip("'\"").removeprefix("sudo ")


# Classes


def class_of(simple: str) -> CommandClass | None:
    """Returns what a simple command is for; None if it is for nothing that is needed again."""
    words = command_words(simple)
    if not words:
        return None
    program = base_name(words[0])
    for what in COMMAND_CLASSES:
        if program in _PROGRAMS[what]:
            return "check" if program == "tsc" and "--noEmit" in words else what
    if program in RUNNERS and (target := _target_class(words)):
        return target
    if program in INTERPRETERS and any(SCRIPT.match(word) for word in words[1:4]):
        return "test" if words[2:3] == ["test"] and base_name(words[1]) == "manage.py" else "call"
    looks = program in _LOOKS and program not in ("docker", "terraform")
    if looks or program in ("ssh", "curl", "psql", "mysql", "sqlite3", "redis-cli"):
        return "call"
    return "call" if _OWN_PROGRAM.match(words[0]) and not words[0].startswith(("/", "~")) else None


def _target_class(words: Sequence[str]) -> CommandClass | None:
    """Returns the class of a program that runs targets: of the first of its words that names one."""
    program = base_name(words[0])
    plain = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if program == "docker":
        return _docker_class(plain)
    if program in ("make", "gmake", "task", "just") and not plain:
        return "build"
    first = next((word for word in plain[:3] if word not in ("run", "x", "r")), "")
    if (first in _NO_TARGETS and plain[:1] != ["run"]) or "$" in first or (len(plain) == 1 and _CLEANS.match(first)):
        return None
    for word in plain[:3]:
        for what, pattern in _TARGETS:
            if pattern.search(word.lower()):
                return what
    return "call" if first and (program != "terraform" or first in _LOOKS["terraform"]) else None


_CLEANS: Final = re.compile(r"\w*clean(?:up|all)?\Z")  # alone, it makes nothing that is needed again


def _docker_class(plain: Sequence[str]) -> CommandClass | None:
    if "build" in plain[:2]:
        return "build"
    return "call" if plain[:1] == ["run"] or plain[:2] == ["compose", "up"] else None


# Words


def _apart(name: str) -> str:
    """Returns the words of a name in lower case, also those of `sendMail`."""
    return re.sub(r"(?<=[a-z\d])(?=[A-Z])", " ", name).lower()


def _subcommand(words: Sequence[str]) -> str:
    return next((word for word in words[1:] if not word.startswith("-")), "")
