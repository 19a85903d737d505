"""Which errors mean a full disk."""

import errno
import os
import resource
from pathlib import Path

import apsw
import pytest

from slicebase.truth.failures import as_our_error
from slicebase.workspace.disk import is_full


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_the_system_says_it_in_three_ways(number: int) -> None:
    assert is_full(OSError(number, os.strerror(number)))


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), OSError(errno.EACCES, "not yours"), ValueError("no")])
def test_another_error_is_another_one(error: Exception) -> None:
    assert not is_full(error)


def test_a_read_of_sqlite_that_fails_is_not_a_full_disk() -> None:
    error = apsw.IOError("disk I/O error")
    setattr(error, "extendedresult", apsw.SQLITE_IOERR_READ)  # noqa: B010  # its type does not name it
    assert not is_full(error)
    ours = as_our_error(error)
    assert ours is not None
    assert ours.code == "cannot-write"


@pytest.mark.parametrize("limit", [0, 5_000, 20_000])
def test_sqlite_says_it_by_the_number_of_the_system(tmp_path: Path, limit: int) -> None:
    connection = apsw.Connection(str(tmp_path / "x.db"))
    connection.execute("CREATE TABLE t (x)")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(apsw.IOError) as caught:
            connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
        assert is_full(caught.value)
        ours = as_our_error(caught.value)
        assert ours is not None
        assert ours.code == "disk-full"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        connection.close()
