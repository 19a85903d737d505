"""Runs tests in forks of one process that has imported everything, with a bug put into its functions.

As a plugin of pytest (`-p tools.forks`) it collects the tests once. Then it reads jobs, one JSON object a line, and
writes for each the name of the test that failed, `""` if none did, `null` if the tests did not end, and `UNFIT` if the
functions cannot be exchanged.
"""

import ast
import gc
import json
import os
import signal
import time
from collections import defaultdict
from types import CodeType, FunctionType

import msgspec
import pytest

UNFIT = "unfit"
PIPES = "SLICEBASE_MUTANTS_PIPES"  # the numbers of two open files: jobs and results


class Job(msgspec.Struct):
    """Tests to run, and the file and the source that its functions get; without a file, they stay as they are."""

    tests: list[str]
    patience: float
    file: str | None = None
    source: str = ""


def pytest_runtestloop(session: pytest.Session) -> object:
    if PIPES not in os.environ:
        return None
    jobs, results = map(int, os.environ.pop(PIPES).split())
    items = {item.nodeid: item for item in session.items}
    gc.freeze()  # a fork then shares what it does not change
    with os.fdopen(jobs) as lines, os.fdopen(results, "w") as answers:
        print(json.dumps(sorted(items)), file=answers, flush=True)
        for line in lines:
            print(json.dumps(_forked(session, items, msgspec.json.decode(line, type=Job))), file=answers, flush=True)
    return True


def _forked(session: pytest.Session, items: dict[str, pytest.Item], job: Job) -> str | None:
    """Returns the test that fails in a fork of this process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        failed = UNFIT
        try:
            if job.file is not None:
                exchange(job.file, job.source)
            failed = job.tests[0]  # for what ends the process
            failed = _first_failure(session, [items[name] for name in job.tests])
        finally:
            os.write(writer, json.dumps(failed).encode())
            os._exit(0)
    os.close(writer)
    end = time.monotonic() + job.patience
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.005)
    with os.fdopen(reader) as answer:
        said = answer.read()
    return json.loads(said) if said else None


def _first_failure(session: pytest.Session, items: list[pytest.Item]) -> str:
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return item.nodeid
    return ""


def exchange(file: str, source: str) -> None:
    """Gives the functions of a module the code that they have in another version of its source."""
    new: dict[str, list[CodeType]] = defaultdict(list)
    for code in _codes(compile(ast.parse(source), file, "exec")):
        new[code.co_qualname].append(code)
    old: dict[str, list[FunctionType]] = defaultdict(list)
    gc.unfreeze()
    for each in gc.get_objects():
        if (
            isinstance(each, FunctionType)
            and each.__code__.co_filename == file
            and "<" not in each.__code__.co_qualname
        ):
            old[each.__code__.co_qualname].append(each)  # inner functions come with the function around them
    for name, functions in old.items():
        lines = sorted({function.__code__.co_firstlineno for function in functions})
        for function in functions:
            function.__code__ = new[name][lines.index(function.__code__.co_firstlineno)]


def _codes(code: CodeType) -> list[CodeType]:
    """Returns the code of all functions and classes in a code, in the order of the source."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return [found for each in inner for found in (each, *_codes(each))]
