"""The chain of seals: what each covers, and whether it holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from slicebase import Slicebase, SlicebaseError
from slicebase.verbs.sealed import seal_report, seals
from tests.conversations import chain, store


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as opened:
        store(opened.truth, chain(3))
        opened.library.create("Page", "A page.", body="one", id="page")
        yield opened


def test_seals_are_listed_the_newest_first_and_say_what_they_cover(memory: Slicebase) -> None:
    first, second = memory.seal(), memory.seal()
    assert [file.id for file in seals(memory)] == [second.id, first.id]
    report = seal_report(memory, first.id, with_files=True)
    assert (report.state, report.files, report.findings) == ("holds", 1, ())
    assert report.log is not None
    assert report.log.database == memory.truth.identity.database
    assert report.chains > 2


def test_a_file_that_changed_is_drift_and_is_seen_only_if_files_are_compared(memory: Slicebase) -> None:
    sealed = memory.seal()
    memory.library.remember("page", "two")
    assert seal_report(memory, sealed.file, with_files=False).state == "holds"
    report = seal_report(memory, sealed.file, with_files=True)
    assert report.state == "drifted"
    assert [(each.status, each.place) for each in report.findings] == [("DRIFTED", "file:page")]


def test_a_seal_that_knows_more_than_the_database_is_broken(memory: Slicebase) -> None:
    sealed = memory.seal().file
    more = sealed.body.replace(b'["chain","turns/s",3', b'["chain","turns/s",4')
    assert more != sealed.body
    assert seal_report(memory, sealed.with_body(more), with_files=False).state == "broken"


def test_a_seal_of_another_database_is_foreign_and_one_without_a_log_is_unverifiable(memory: Slicebase) -> None:
    sealed = memory.seal().file
    other = sealed.body.replace(memory.truth.identity.database.encode(), b"01M0000000000000000000000X")
    assert seal_report(memory, sealed.with_body(other), with_files=False).state == "foreign"
    assert seal_report(memory, sealed.with_body(b"no line\n"), with_files=False).state == "unverifiable"


def test_a_file_that_is_no_seal_is_refused(memory: Slicebase) -> None:
    with pytest.raises(SlicebaseError) as error:
        seal_report(memory, "page", with_files=False)
    assert error.value.code == "no-file"
