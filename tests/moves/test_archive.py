"""Archives: the same files give the same bytes, and what comes from outside stays in its folder."""

import io
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from slicebase import SlicebaseError
from slicebase.moves import archive
from slicebase.moves.archive import Member, packed, unpacked
from slicebase.moves.places import name_of_owner, refuse_unsafe

NAMES = st.from_regex(r"[a-zü]{1,150}(/[a-z]{1,150}){0,2}", fullmatch=True)


def as_bytes(files: dict[str, bytes]) -> bytes:
    return b"".join(packed(Member(name, len(data), [data]) for name, data in files.items()))


def read(data: bytes, tmp_path: Path) -> dict[str, bytes]:
    (tmp_path / "x.tar.zst").write_bytes(data)
    return {member.name: b"".join(member.chunks) for member in unpacked(tmp_path / "x.tar.zst")}


def refused(data: bytes, tmp_path: Path) -> str:
    with pytest.raises(SlicebaseError) as caught:
        read(data, tmp_path)
    return caught.value.code


@given(files=st.dictionaries(NAMES, st.binary(max_size=2000), max_size=4))
def test_what_is_packed_is_unpacked_and_has_the_same_bytes_each_time(
    files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = as_bytes(files)
    assert data == as_bytes(files)
    assert read(data, tmp_path_factory.mktemp("x")) == files


def test_other_programs_read_an_archive(tmp_path: Path) -> None:
    (tmp_path / "a.tar.zst").write_bytes(as_bytes({"a/b": b"text", "ü" * 90: b"x" * 1000}))
    done = subprocess.run("zstd -dc a.tar.zst | tar -xOf -", shell=True, cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"text" + b"x" * 1000


def tarred(*infos: tarfile.TarInfo, form: int = tarfile.PAX_FORMAT) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as made:
        for each in infos:
            made.addfile(each, io.BytesIO(bytes(each.size)))
        end = made.offset
    return zstandard.compress(stream.getvalue()[:end] + bytes(1024))


def info(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, size
    return made


UNSAFE = ["/etc/passwd", "../up", "a/../../up", "a//b", "./a", "a/.", "a\\b", "line\nend", "a" * 256, "a/" * 600 + "a"]
UNSAFE += [
    "slices/.git/config",
    ".GIT",
    "a/.git/hooks/x",
    "a/.g\u200cit/config",
    "git~1/config",
    ".git./x",
    ".git::$D/x",
]


@pytest.mark.parametrize("name", [*UNSAFE, "", "nul\0", "\ud800"])
def test_a_name_that_leads_out_of_its_folder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SlicebaseError):
        refuse_unsafe(name, "x")
    if name in UNSAFE:
        assert refused(tarred(info(name)), tmp_path) == "bad-move"


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE]
)
def test_links_folders_and_devices_are_refused(kind: bytes, tmp_path: Path) -> None:
    assert refused(tarred(info("a", kind, "b")), tmp_path) == "bad-move"


@pytest.mark.parametrize("name", [".gitignore", "git", "a.git", "agit~1", "git~x", ".gi"])
def test_names_that_only_begin_like_a_folder_of_git_are_as_good_as_others(name: str, tmp_path: Path) -> None:
    assert read(as_bytes({name: b"x"}), tmp_path) == {name: b"x"}


def test_names_that_are_one_on_some_systems_are_two_where_the_system_tells_them_apart(tmp_path: Path) -> None:
    assert read(as_bytes({"a": b"x", "A": b"y"}), tmp_path) == {"a": b"x", "A": b"y"}
    assert refused(tarred(info("a"), info("a")), tmp_path) == "bad-move"


def of_any_size(name: str, size: int) -> bytes:
    """Returns the beginning of an archive with a file of this size."""
    return next(archive._tar([Member(name, size, [])]))


@pytest.mark.parametrize("name", ["slicebase.db", "ü" * 100])
@pytest.mark.parametrize("size", [8**11 - 1, 8**11, 9 << 40])
def test_a_file_of_any_size_is_read_again_as_large_as_it_is(name: str, size: int, tmp_path: Path) -> None:
    """A header has no room for 8 GiB: the size stands before it then."""
    stream = io.BytesIO(of_any_size(name, size))
    member = next(archive._members(stream, tmp_path, size * 2))
    assert (member.name, member.size) == (name, size)


def test_headers_that_say_more_than_a_name_are_refused(tmp_path: Path) -> None:
    odd = info("a")
    odd.pax_headers = {"path": "b", "GNU.sparse.major": "1"}
    assert refused(tarred(odd), tmp_path) == "bad-move"
    assert refused(tarred(info("a" * 200), form=tarfile.GNU_FORMAT), tmp_path) == "bad-move"
    for size in ("-1", "1e3", "\u0661", "9" * 5000, ""):
        odd.pax_headers = {"size": size}
        assert refused(tarred(odd), tmp_path) == "bad-move"


def test_an_archive_that_grows_without_limit_is_refused_before_it_fills_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "_ALWAYS", 1 << 20)
    assert refused(tarred(info("a", size=10 << 20)), tmp_path) == "too-large"
    assert refused(tarred(*(info(str(n), size=1 << 19) for n in range(20))), tmp_path) == "too-large"


DAMAGES: list[Callable[[bytes, int], bytes]] = [
    lambda data, at: data[:at],
    lambda data, at: data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :],
    lambda data, at: data[:at] + data[at + 1 :],
]


@given(damage=st.sampled_from(DAMAGES), at=st.integers(0, 10_000))
def test_damage_anywhere_is_an_error_of_ours_or_gives_what_was_packed(
    damage: Callable[[bytes, int], bytes], at: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = {"a": b"some text " * 50, "b/c": bytes(range(256))}
    data = as_bytes(files)
    try:
        found = read(damage(data, at % len(data)), tmp_path_factory.mktemp("x"))
    except SlicebaseError as error:
        assert error.code in ("bad-move", "too-large")
    else:
        assert found == files


@given(st.text(min_size=1, max_size=50), st.text(min_size=1, max_size=50))
def test_an_owner_has_a_file_name_of_its_own_on_every_system(one: str, other: str) -> None:
    names = [name_of_owner(one), name_of_owner(other)]
    assert (one == other) == (names[0].casefold() == names[1].casefold())
    for name in names:
        refuse_unsafe(name, "x")
        assert name.isascii()
