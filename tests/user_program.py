"""A program as a user writes it. tests/test_user_program.py checks it with `mypy --strict`, and runs it.

It names the types that a checker infers, so that a type that becomes `Any` is an error here.
"""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import assert_type

from slicebase import (
    Account,
    Change,
    Context,
    ContextSlice,
    Evidence,
    Exit,
    Filters,
    Logged,
    Losses,
    Manifest,
    Narrative,
    Piece,
    Provenance,
    Reason,
    Recorder,
    Replayed,
    RunStatus,
    SearchResults,
    Slicebase,
    SlicebaseError,
    Step,
    Verdict,
    aio,
)


def history(memory: Slicebase, transcript: Path) -> str:
    assert_type(memory.import_(transcript), Account)
    account = memory.import_(str(transcript))
    assert_type(account.sessions, list[str])
    assert_type(account.added, int)
    context = memory.context("how are codes compared?", tokens=800, as_of=datetime.now(UTC))
    assert_type(context, Context)
    assert_type(context.pieces, tuple[Piece, ...])
    assert_type(context.manifest, Manifest)
    assert_type(memory.replay(context.id), Replayed)
    loss = memory.lost()
    assert_type(loss, Losses)
    lines = [f"{item.kind} {item.text} {item.ref}" for item in loss.items]
    assert_type(memory.graph.select(context.pieces[0].ref), ContextSlice)
    return "\n".join([*lines, memory.lost_context(tokens=500).text])


def library(memory: Slicebase) -> None:
    log = memory.library.create("Decisions", "What was decided.", type="jsonl")
    assert_type(log, Change)
    first = memory.library.remember(log.id, "Codes are lower case.")
    signed = Provenance(agent="reviewer", confidence=0.9)
    memory.library.remember(log.id, "Codes are upper case.", supersedes=first.ref, provenance=signed)
    found = memory.search("upper", Filters(type="jsonl", changed_since="2020-01-01T00:00:00Z"))
    assert_type(found, SearchResults)
    print([each.ref for each in found], [hit.text for hit in found.files], memory.library.recall(log.ref).text)


def run(memory: Slicebase, ref: str) -> None:
    memory.runs.start("build", "Find out.", done="It is cited.", budgets={"max_steps": 20})
    recorder = memory.runs.recorder("build")
    assert_type(recorder, Recorder)

    @recorder
    def read(path: str, lines: int = 10) -> list[str]:
        return [path] * lines

    assert_type(read("a", lines=2), list[str])
    with recorder.call("bash", command="make test") as call:
        call.result = {"passed": 212}
    assert_type(memory.runs.blob("build", call.blob), bytes)
    with memory.runs.step("build") as step:
        assert_type(step, Step)
        evidence = step.cite(ref, "upper case")
        assert_type(evidence, Evidence)
        assert_type(step.claim("Upper case.", cite=[evidence, (ref, "upper case")]), Logged)
        step.fail("It does not work.", category="test")
        step.ask("Why?")
        step.close_question("Why?")
    memory.runs.stop("build", "OBJECTIVE_ACHIEVED")
    assert_type(memory.runs.status("build"), RunStatus)
    assert_type(memory.runs.narrative("build"), Narrative)
    assert_type(memory.why("run:build"), Reason)
    assert_type(memory.verify(), Verdict)


def missing(memory: Slicebase) -> str:
    try:
        memory.runs.status("no-such-run")
    except SlicebaseError as error:
        assert_type(error.exit, Exit)
        assert_type(error.where.line, int | None)
        return error.code if error.exit is Exit.NOT_FOUND else error.hint
    return ""


async def awaited(folder: Path) -> None:
    async with aio.Slicebase.open(folder) as memory:
        context = await memory.context("how are codes compared?", tokens=800)
        assert_type(context, Context)
        await memory.runs.start("awaited", "Find out.", done="It is cited.")
        recorder = memory.runs.recorder("awaited")

        @recorder
        async def search(words: str) -> int:
            return len(await memory.search(words))

        assert_type(await asyncio.gather(search("codes"), search(words="orders")), tuple[int, int])
        async with memory.runs.step("awaited") as step:
            assert_type(await step.claim("Upper case.", cite=(context.pieces[0].ref, "upper case")), Logged)
        assert_type(await memory.library.create("Notes", "What was noted."), Change)
        assert_type((await memory.verify()).status, str)


def main(folder: str, transcript: str) -> None:
    with Slicebase.open(folder) as memory:
        print(history(memory, Path(transcript)))
        run(memory, memory.context("how are codes compared?", 800).pieces[0].ref)
        library(memory)
        print(missing(memory))
        print(memory.library.forget(memory.library.list_files()[0].id))
    Slicebase.init(Path(folder, "other")).close()
    with Slicebase.open(Path(folder, "other"), root=Path(folder, "other")) as other:
        other.import_(transcript)
    asyncio.run(awaited(Path(folder, "other")))
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
