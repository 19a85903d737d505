"""Two branches that write, archive and merge again and again: no word is lost or doubled without a conflict."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.body.sections import sections
from slicebase.files.body.text import append_in_section
from slicebase.files.body.whole import whole_pieces
from slicebase.files.merge import merge, merge_bytes
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key
from tests.amounts import MORE
from tests.files.body.test_repeated import TITLE, TYPES, Files, archive, grown, new, words_of

NAME = ".slices/01A.slice"

Steps = list[tuple[bool, int]]


class Commit(NamedTuple):
    """The files of a commit, what was ever written up to it, and the numbers of its ancestors and its own."""

    files: Files
    words: frozenset[bytes]
    above: frozenset[int]


class ConflictError(Exception):
    """The driver leaves a merge to a person."""


class History:
    """Commits of two branches, merged as git merges them: several common ancestors are merged first."""

    def __init__(self, files: Files) -> None:
        self.commits = [Commit(files, frozenset(), frozenset({0}))]
        self.heads = [0, 0]
        self._numbers = count(1)

    def head(self, branch: int) -> Commit:
        return self.commits[self.heads[branch]]

    def change(self, branch: int, steps: Steps) -> None:
        """Adds a commit in which a branch writes words, and moves content to archives."""
        files, words = dict(self.head(branch).files), {*self.head(branch).words}
        for writes, value in steps:
            number = next(self._numbers)
            if writes:
                word = f"{'xy'[branch]}{number}"
                files["01A"] = files["01A"].with_body(written(files["01A"], word, value))
                words.add(word.encode())
            else:
                archive(files, value * 40, f"01{'XY'[branch]}{number:03}")
        self._add(branch, files, frozenset(words), self.head(branch).above)

    def merge(self, branch: int) -> None:
        """Merges the other branch into this one."""
        here, there = self.heads[branch], self.heads[1 - branch]
        one, other = self.commits[here], self.commits[there]
        if here in other.above:
            self.heads[branch] = there
        elif there not in one.above:
            base, ours, theirs = self._base(here, there), one.files["01A"].to_bytes(), other.files["01A"].to_bytes()
            outcome, turned = merge_bytes(base, ours, theirs, NAME), merge_bytes(base, theirs, ours, NAME)
            assert bool(outcome.conflicts) == bool(turned.conflicts)
            if outcome.conflicts:
                raise ConflictError
            assert outcome.data == turned.data, "whoever merges whom"
            files = {**one.files, **other.files, "01A": SliceFile.parse(outcome.data, NAME)}  # archives never change
            self._add(branch, files, one.words | other.words, one.above | other.above)

    def _add(self, branch: int, files: Files, words: frozenset[bytes], above: frozenset[int]) -> None:
        self.heads[branch] = len(self.commits)
        self.commits.append(Commit(files, words, above | {len(self.commits)}))

    def _base(self, one: int, other: int) -> bytes:
        """Returns the base of a merge. A conflict in a base that is merged itself stays in it, with its markers."""
        common = self.commits[one].above & self.commits[other].above
        older = {each for commit in common for each in self.commits[commit].above - {commit}}
        first, *more = sorted(common - older)
        data = self.commits[first].files["01A"].to_bytes()
        for each in more:
            data = merge_bytes(self._base(first, each), data, self.commits[each].files["01A"].to_bytes(), NAME).data
        return data


def written(file: SliceFile, word: str, value: int) -> bytes:
    """Returns a body with one more word, at its end or, in Markdown, at the end of one of its sections."""
    titles = [section.title for section in sections(file.body.decode()) if section.level] if value % 2 else []
    if file.body_type == "markdown" and titles:
        return append_in_section(file.body, titles[value % len(titles)], f"<{word}>")
    return grown(file.body_type or "", file.body, word)


def read(files: Files) -> list[bytes]:
    return words_of(b"".join(piece.data for piece in whole_pieces(files["01A"], files.get)))


def play(body_type: str, start: Steps, rounds: Sequence[tuple[Steps, Steps, int]]) -> History:
    """Returns a history of rounds: both branches change, then one merges the other, or each the other."""
    files = new(body_type, TITLE if len(start) % 2 else b"")
    history = History({**files, "01A": set_key(files["01A"], "slice.contract.overflow", "archive")})
    history.change(0, [(True, 0), *start])
    history.heads[1] = history.heads[0]
    for ours, theirs, direction in rounds:
        history.change(0, ours)
        history.change(1, theirs)
        tips = [*history.heads]
        for branch in (0, 1):
            if direction in (branch, 2):
                history.heads[1 - branch], now = tips[1 - branch], history.heads[1 - branch]
                history.merge(branch)
                history.heads[1 - branch] = now
                found = read(history.head(branch).files)
                assert sorted(found) == sorted(history.head(branch).words)
    return history


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 8)), max_size=5)
ROUNDS = st.lists(st.tuples(STEPS, STEPS, st.integers(0, 2)), min_size=2, max_size=4)


@pytest.mark.parametrize("body_type", TYPES)
@settings(max_examples=6 * MORE)
@given(start=STEPS, rounds=ROUNDS)
def test_no_word_is_lost_or_doubled_by_merges_without_a_conflict(
    body_type: str, start: Steps, rounds: list[tuple[Steps, Steps, int]]
) -> None:
    with suppress(ConflictError):
        play(body_type, start, rounds)


@pytest.mark.parametrize("body_type", TYPES)
def test_what_both_branches_archive_after_one_merged_the_other_is_a_conflict(body_type: str) -> None:
    """One has a line of its own between those that both archive, and nothing says which lines are the same."""
    write, archive_all = (True, 0), (False, 0)
    merge = [write], [write], 0
    history = play(body_type, [write], [merge])
    assert history.head(0).files["01A"].merged
    assert history.head(1).files["01A"].merged is None
    with pytest.raises(ConflictError):
        play(body_type, [write], [merge, ([write, archive_all], [write, archive_all], 0)])


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("body_type", TYPES)
def test_two_people_who_pull_and_push_archive_old_lines_without_a_conflict(body_type: str, first: int) -> None:
    """One archives and pulls; the other, who has not pulled since, archives fewer or more of the same old lines."""
    write = True, 0
    for ours, theirs in ((4, 3), (3, 4), (4, 4)):
        rounds = [([write, (False, ours), write], [write], 0), ([write], [write, (False, theirs), write], first)]
        history = play(body_type, [write] * 14, rounds)
        assert len(history.head(first).files) == 3


def test_only_a_file_whose_content_can_move_to_archives_has_a_mark_of_a_merge() -> None:
    base = new("text")["01A"].with_body(b"a\n")
    ours, theirs = (base.with_body(b"a\n\n%s\n" % word) for word in (b"x", b"y"))
    merged = merge(base, ours, theirs)
    assert SliceFile.parse(merged.data).merged is None


def test_sections_that_both_branches_archive_merge_where_neither_wrote_into_them() -> None:
    start: Steps = [(True, 0)] * 4
    both_archive = play("markdown", start, [([(False, 0), (True, 0)], [(False, 0), (True, 0)], 0)])
    assert len(both_archive.head(0).files) == 3
    with pytest.raises(ConflictError):
        play("markdown", start, [([(False, 0), (True, 0)], [(True, 1), (False, 0)], 0)])
