"""The turn index and the ranker: the same results in any order of adding, for any question."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.context.question import analyse
from slicebase.context.ranking import Ranked, rank
from slicebase.graph.contents import kind_bits
from slicebase.index import disposable, figures, nearby
from slicebase.index.disposable import Disposable
from slicebase.index.narrow import TurnFilters
from slicebase.index.turn_schema import TURNS_LAYOUT, IndexedTurn
from slicebase.index.turns import TurnIndex
from tests.codes import code_of

DAY = 86_400_000


@pytest.fixture
def index() -> Iterator[TurnIndex]:
    with TurnIndex() as opened:
        yield opened


def turn(name: str, text: str, *parents: str, session: str = "s", time: int = 0) -> IndexedTurn:
    return IndexedTurn(name, session, time, parents, text)


def ask(index: TurnIndex, text: str, limit: int = 20) -> list[Ranked]:
    question = analyse(text, index.words(text))
    return rank(question, index.figures(question), limit)


def found(index: TurnIndex, text: str) -> list[str]:
    return [ranked.turn for ranked in ask(index, text)]


TALK = (
    turn("a", "Ada: where did the heron nest?"),
    turn("b", "Bo: on the old mill, by the weir", "a"),
    turn("c", "Ada: thank you", "b"),
    turn("d", "Bo: my brother paints boats", session="t", time=DAY),
    turn("e", "Ada: which colours does he use?", "d", session="t", time=DAY + 1),
)


def test_turns_are_found_by_their_words_and_by_their_neighbours(index: TurnIndex) -> None:
    index.add(TALK)
    assert found(index, "heron") == ["a", "b", "c"]
    assert found(index, "painting")[0] == "d"
    assert "d" not in found(index, "heron")


def test_the_same_turns_again_change_nothing(index: TurnIndex) -> None:
    index.add(TALK)
    before = ask(index, "heron boats")
    index.add([*TALK, turn("a", "another text under a known id")])
    assert (len(index), ask(index, "heron boats")) == (len(TALK), before)


def test_of_two_turns_with_one_id_the_first_stays(index: TurnIndex) -> None:
    index.add([turn("a", "heron"), turn("a", "stork")])
    assert (found(index, "heron"), found(index, "stork"), len(index)) == (["a"], [], 1)


def test_without_parents_turns_follow_each_other_in_time(index: TurnIndex) -> None:
    index.add([turn("late", "yes", time=3), turn("first", "a heron", time=1)])
    index.add([turn("between", "really", time=2), turn("other", "no", session="t", time=2)])
    assert found(index, "heron") == ["first", "between", "late"]


def test_where_parents_are_given_time_makes_no_neighbours(index: TurnIndex) -> None:
    index.add([turn("root", "hello"), turn("one", "a heron", time=1)])
    index.add([turn("two", "no", "root", time=2), turn("three", "yes", "one", time=3)])
    assert found(index, "heron") == ["one", "three"]


def test_a_parent_may_come_after_its_reply(index: TurnIndex) -> None:
    index.add([turn("reply", "yes", "asked")])
    assert found(index, "heron") == []
    index.add([turn("asked", "a heron?")])
    assert found(index, "heron") == ["asked", "reply"]


def test_a_turn_that_names_itself_as_its_parent_does_no_harm(index: TurnIndex) -> None:
    index.add([turn("a", "a heron", "a", "b"), turn("b", "yes", "a")])
    assert found(index, "heron") == ["a", "b"]


def test_the_words_of_an_erased_turn_are_gone_from_results_and_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"
    with TurnIndex(path) as index:
        index.add([*TALK, turn("x", "the secret is xyzzyplugh", "c")])
        assert found(index, "xyzzyplugh")[0] == "x"
        assert any(b"xyzzyplugh" in part.read_bytes() for part in tmp_path.iterdir())
        index.erase(["x", "unknown"])
        assert (found(index, "xyzzyplugh"), len(index)) == ([], len(TALK))
        assert not any(b"xyzzyplugh" in part.read_bytes() for part in tmp_path.iterdir())


def test_removing_nothing_changes_nothing(index: TurnIndex) -> None:
    index.add(TALK)
    index.remove([])
    assert len(index) == len(TALK)


def test_an_index_on_disk_is_opened_again_with_its_mark(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "turns.db"
    with TurnIndex(path) as index:
        assert index.mark == ""
        index.add(TALK, mark="five")
    with TurnIndex(path) as index:
        assert (index.mark, found(index, "heron")) == ("five", ["a", "b", "c"])


def test_adding_that_fails_halfway_stores_nothing(index: TurnIndex) -> None:
    def breaking() -> Iterator[IndexedTurn]:
        yield turn("a", "heron")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        index.add(breaking(), mark="one")
    assert (len(index), index.mark, found(index, "heron")) == (0, "", [])


@pytest.mark.parametrize("damage", ["version", "foreign", "garbage"])
def test_a_file_that_is_not_an_index_of_this_version_is_replaced_by_an_empty_index(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "turns.db"
    with TurnIndex(path) as index:
        index.add(TALK, mark="five")
    if damage == "garbage":
        assert Disposable(path, TURNS_LAYOUT).discard()
        path.write_bytes(b"no database " * 1000)
    else:
        connection = apsw.Connection(str(path))
        connection.pragma("user_version" if damage == "version" else "application_id", 99)
        connection.close()
    with TurnIndex(path) as index:
        assert (len(index), index.mark, found(index, "heron")) == (0, "", [])
        index.add(TALK)
        assert found(index, "heron") == ["a", "b", "c"]


def test_turns_are_removed_from_the_file_while_another_process_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a purge rewrites the file, which has to wait for readers."""
    monkeypatch.setattr(disposable, "PATIENT", disposable.Patience(0, 0))
    with TurnIndex(tmp_path / "turns.db") as index:
        index.add(TALK)
        reader = apsw.Connection(str(tmp_path / "turns.db"))
        reader.execute("BEGIN")
        assert reader.execute("SELECT turns FROM state").get == len(TALK)
        index.ask(lambda: index.remove(["a"]))
        index.ask(lambda: index.remove_sessions(["unknown"]))
        assert (len(index), index.file.is_in_memory) == (len(TALK) - 1, False)
        assert code_of(lambda: index.purge(["b"])) == "locked"
        reader.close()


def damage(path: Path) -> None:
    """Overwrites a page of the index that is not read when it is opened."""
    connection = apsw.Connection(str(path))
    page = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'state'").get
    connection.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)


def test_an_index_that_is_in_use_is_not_deleted(tmp_path: Path) -> None:
    """Another version finds a foreign layout, and works in memory until the first one has closed the index."""
    path = tmp_path / "turns.db"
    index = TurnIndex(path)
    index.add(TALK, mark="five")
    with TurnIndex(path, TURNS_LAYOUT._replace(version=99)) as other:
        assert (len(other), other.file.is_in_memory) == (0, True)
        assert (index.mark, found(index, "heron")) == ("five", ["a", "b", "c"])
        index.close()
        assert (other.ask(lambda: len(other)), other.file.is_in_memory) == (0, False)


def test_a_purge_is_refused_while_another_version_of_the_index_is_in_use(tmp_path: Path) -> None:
    """The index of this process is in memory then; the words would stay in the file."""
    path = tmp_path / "turns.db"
    with TurnIndex(path, TURNS_LAYOUT._replace(version=99)) as user:
        user.add(TALK)
        with TurnIndex(path) as index:
            assert code_of(lambda: index.purge(["a"])) == "locked"
            assert code_of(lambda: index.purge_sessions(["s"])) == "locked"
            user.close()
            index.purge(["a"])
        assert not path.exists()


def test_a_purge_deletes_an_index_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"
    with TurnIndex(path) as index:
        index.add([turn("a", "the heron xyzzy"), *TALK[1:]])
    damage(path)
    with TurnIndex(path) as index:
        index.purge(["a"])
    assert b"xyzzy" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_a_purge_again_empties_the_log_that_a_killed_purge_left(tmp_path: Path) -> None:
    """The turns are gone from the tables, and their words are still in the log while another process has it open."""
    path = tmp_path / "turns.db"
    with TurnIndex(path) as index, TurnIndex(path) as other:
        index.add([turn("a", "the heron xyzzy")])
        apsw.Connection.wal_autocheckpoint(other._connection, 0)
        other._connection.execute("DELETE FROM turn")
        assert Path(f"{path}-wal").stat().st_size
        index.purge_sessions(["s"])
        assert not Path(f"{path}-wal").stat().st_size


def test_a_purge_sees_a_log_whose_database_is_gone(tmp_path: Path) -> None:
    """A process was killed, and somebody deleted the database but not its log."""
    path = tmp_path / "turns.db"
    Path(f"{path}-wal").write_bytes(b"xyzzy")
    file = Disposable(path, TURNS_LAYOUT)
    assert file.exists()
    file.purge()
    assert not file.exists()
    assert [each.name for each in tmp_path.iterdir()] == ["turns.lock"]


def test_a_purge_says_why_an_index_cannot_be_deleted(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"
    path.write_bytes(b"xyzzy")
    path.with_suffix(".lock").mkdir()
    assert code_of(Disposable(path, TURNS_LAYOUT).purge) == "cannot-write"


def test_a_damaged_file_is_replaced_when_a_question_meets_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"
    with TurnIndex(path) as index:
        index.add(TALK)
    damage(path)
    with TurnIndex(path) as index:
        assert index.ask(lambda: ask(index, "heron")) == []
        index.add(TALK)
    with TurnIndex(path) as index:
        assert found(index, "heron") == ["a", "b", "c"]


def test_where_nothing_can_be_written_the_index_is_built_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with TurnIndex(tmp_path / "file" / "turns.db") as index:
        index.add(TALK)
        assert found(index, "heron") == ["a", "b", "c"]


@pytest.mark.parametrize("question", ["", "   ", "what is it?", "?!*", "\x00", "\ud800"])
def test_a_question_without_words_finds_nothing(index: TurnIndex, question: str) -> None:
    index.add(TALK)
    assert ask(index, question) == []


def test_an_empty_index_finds_nothing(index: TurnIndex) -> None:
    assert ask(index, "heron on 5 May 2024") == []


@pytest.mark.parametrize(
    "question",
    [
        '"heron"',
        "heron AND NOT nest",
        "NEAR(heron weir, 2)",
        "heron*",
        "-heron",
        "text:heron",
        "heron OR",
        "^heron'",
        "((",
    ],
)
def test_what_means_something_to_the_search_engine_is_data(index: TurnIndex, question: str) -> None:
    index.add(TALK)
    assert ("a" in found(index, question)) == ("heron" in question)


def test_texts_with_control_characters_are_indexed_completely(index: TurnIndex) -> None:
    index.add([turn("a", "before\x00after \x1b[31mred")])
    assert found(index, "after") == found(index, "before") == found(index, "31mred") == ["a"]


def test_scripts_without_spaces_are_found_by_parts_of_their_sentences(index: TurnIndex) -> None:
    index.add(
        [
            turn("a", "東京の天気はどうですか", session="1"),
            turn("b", "猫が好きです", session="2"),
            turn("c", "ภาษาไทยยากไหม", session="3"),
        ]
    )
    assert found(index, "天気")[0] == "a"
    assert found(index, "猫")[0] == "b"
    assert found(index, "ไทย")[0] == "c"


def test_accents_and_marks_do_not_split_words(index: TurnIndex) -> None:
    index.add([turn("a", "El Niño y el café", session="1"), turn("b", "हिन्दी भाषा", session="2")])
    assert found(index, "CAFE nino") == ["a"]
    assert found(index, "हिन्दी") == ["b"]
    assert found(index, "ह") == []


def test_forms_of_a_word_that_are_not_made_by_an_ending_count_as_the_word(index: TurnIndex) -> None:
    index.add([turn("a", "Ada bought a boat", session="1"), turn("b", "Bo may buy it", session="2")])
    index.add([turn("c", "a Rose is a rose", session="3"), turn("d", "the tide has risen", session="4")])
    assert found(index, "who buys it?") == found(index, "who bought it?") == ["b", "a"]
    assert {each.score for each in ask(index, "what buys bought buying")} == {each.score for each in ask(index, "buy")}
    assert found(index, "the tides that rose")[:2] == ["d", "c"]
    assert found(index, "a Rose") == ["c"], "what is written like a name is one"


def test_who_only_asks_gets_nothing_for_being_named(index: TurnIndex) -> None:
    index.add([turn("a", "Ada: where is the heron? And why?", session="1"), turn("b", "Ada: a heron", session="2")])
    assert [(each.turn, each.parts["label"] > 0) for each in ask(index, "Ada heron")] == [("b", True), ("a", False)]


def test_a_word_that_no_turn_has_is_replaced_by_the_most_similar_one(index: TurnIndex) -> None:
    index.add([turn("a", "we entered the tournament", session="1"), turn("b", "a tour of the town", session="2")])
    assert found(index, "tournamant") == ["a"]
    assert found(index, "tok") == []


def test_the_speaker_whom_a_question_names_comes_first(index: TurnIndex) -> None:
    talk = [("Ada", "I met Bo, and we saw a heron"), ("Bo", "the heron was grey"), ("Ada", "and Bo was late")] * 5
    index.add(turn(f"{n:02}", f"{who}: {what}", time=n) for n, (who, what) in enumerate(talk))
    best = ask(index, "what did Bo say of the heron?", limit=5)
    assert {ranked.turn for ranked in best} == {"01", "04", "07", "10", "13"}
    assert all(ranked.parts["label"] for ranked in best)


def test_a_summary_comes_first_and_what_somebody_says_before_calls_and_results(index: TurnIndex) -> None:
    spoken = [("said", "assistant", {"answer"}), ("asked", "user", {"prompt"}), ("summed", "system", {"summary"})]
    aside = [("called", "assistant", {"call"}), ("got", "tool", {"result"}), ("hidden", "user", set[str]())]
    index.add(
        turn(name, "a heron", session=name)._replace(role=role, kinds=kind_bits(kinds))
        for name, role, kinds in aside + spoken
    )
    assert found(index, "heron") == ["summed", "asked", "said", "called", "got", "hidden"]
    assert found(index, "where is my heron?") == ["summed", "asked", "said", "called", "got", "hidden"]


def test_a_date_is_found_in_every_year_or_in_its_own(index: TurnIndex) -> None:
    index.add(
        turn(f"{year}", "the usual", session=f"{year}", time=(year - 1970) * 365 * DAY + 200 * DAY)
        for year in (2021, 2022, 2023)
    )
    assert sorted(found(index, "what happened in July?")) == ["2021", "2022", "2023"]
    assert found(index, "what happened in July 2022?") == ["2022"]
    assert found(index, "what happened in March?") == []


def test_of_a_huge_question_only_the_beginning_counts(index: TurnIndex) -> None:
    index.add(TALK)
    assert found(index, "heron " + "word " * 1_000_000 + "boats") == ["a", "b", "c"]


@pytest.mark.parametrize("looked_up", [100, 5])
def test_where_a_word_is_everywhere_the_newest_turns_that_have_it_are_followed(
    index: TurnIndex, monkeypatch: pytest.MonkeyPatch, looked_up: int
) -> None:
    monkeypatch.setattr(figures, "_MOST_LOOKED_UP", looked_up)
    monkeypatch.setattr(figures, "_MOST_FOLLOWED", 3)
    index.add(turn(f"{n}", "a heron", session=f"{n}", time=n) for n in range(9))
    assert found(index, "heron") == ["8", "7", "6"]


def test_the_turns_that_have_most_of_the_words_are_followed(index: TurnIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_MOST_FOLLOWED", 1)
    texts = ("a grey heron", "a grey owl", "a heron", "a heron")
    index.add(turn(f"{n}", text, session=f"{n}", time=n) for n, text in enumerate(texts))
    assert found(index, "grey heron") == ["0"]


def test_a_common_word_counts_where_rarer_ones_lead(index: TurnIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_MOST_LOOKED_UP", 3)
    index.add(turn(f"{n}", "grey heron" if n % 2 else "a heron", session=f"{n // 2}", time=n) for n in range(4))
    index.add(turn(f"{n}", "a heron", session=f"{n}", time=n) for n in range(4, 9))
    ranked = {each.turn: each.parts for each in ask(index, "grey heron")}
    assert set(ranked) == {"0", "1", "2", "3"}
    assert ranked["1"]["words"] > ranked["0"]["words"] > 0


def test_the_links_to_very_many_replies_are_not_followed(index: TurnIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_MOST_REACHED", 5)
    index.add([turn("a", "a heron", "before"), turn("before", "hello")])
    index.add(turn(f"{n}", "yes", "a") for n in range(9))
    assert found(index, "heron") == ["a", "before"]


WORDS = ("heron", "weir?", "always", "mill", "boat", "Ada:", "Bo:", "paint", "painted", "the", "bought", "buys")


@st.composite
def histories(draw: st.DrawFn) -> list[IndexedTurn]:
    """Two sessions that branch, join, continue each other, and have missing parents or none."""
    count = draw(st.integers(1, 12))
    turns = []
    for number in range(count):
        parents = draw(st.sets(st.integers(0, count), max_size=2)) if number % 2 else set[int]()
        turns.append(
            IndexedTurn(
                id=f"turn-{(number * 7) % 13}",
                session=draw(st.sampled_from("pqr")),
                time=draw(st.integers(0, 3)) * DAY,
                parents=tuple(f"turn-{(parent * 7) % 13}" for parent in parents if parent < number or parent == count),
                text=" ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))),
                role=draw(st.sampled_from(("", "user", "assistant"))),
                kinds=draw(st.sampled_from((0, 1, 2, 8, 64))),
                rules=draw(st.booleans()),
            )
        )
    return turns


QUESTIONS = (
    "heron",
    "my heron",
    "can you paint a heron",
    "Ada paints boats by the weir",
    "what did Bo paint on 2 January 1970?",
    "the painter",
    "who buys a boat",
)


def answers(index: TurnIndex) -> list[list[Ranked]]:
    return [ask(index, question) for question in QUESTIONS]


def filled(turns: Sequence[IndexedTurn], *, at_once: bool) -> TurnIndex:
    index = TurnIndex()
    for batch in [turns] if at_once else [[turn] for turn in turns]:
        index.add(batch)
    return index


@settings(max_examples=40, deadline=None)
@given(histories(), st.randoms(use_true_random=False), st.booleans(), st.integers(1, 4))
def test_an_index_filled_in_any_order_gives_the_same_answers(
    turns: list[IndexedTurn], random: Random, at_once: bool, most: int
) -> None:
    """Ruling 43. `most` is so small that the limits take effect."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "_MOST_LOOKED_UP", most * 3)
        patch.setattr(figures, "_MOST_FOLLOWED", most)
        patch.setattr(figures, "_MOST_REACHED", most * 4)
        with filled(turns, at_once=True) as one, filled(random.sample(turns, len(turns)), at_once=at_once) as other:
            assert answers(one) == answers(other)


@settings(max_examples=40, deadline=None)
@given(histories(), st.data())
def test_an_index_from_which_turns_were_removed_is_as_one_that_never_had_them(
    turns: list[IndexedTurn], data: st.DataObject
) -> None:
    gone = data.draw(st.sets(st.sampled_from([turn.id for turn in turns])))
    with filled(turns, at_once=True) as one, filled([t for t in turns if t.id not in gone], at_once=True) as other:
        one.remove(gone)
        assert answers(one) == answers(other)


@settings(max_examples=40, deadline=None)
@given(histories(), st.integers(0, 3))
def test_an_index_asked_as_of_a_time_is_as_one_that_has_only_the_turns_up_to_it(
    turns: list[IndexedTurn], day: int
) -> None:
    """Ruling 52: counts, neighbours, similar words and openings are those of that time; day 0 is undated."""
    later = 10_000 * DAY
    turns = [
        each._replace(
            time=each.time and each.time + later, parents=() if each.session == "r" else (*each.parents, "nobody")
        )
        for each in turns
    ]
    wanted = TurnFilters(as_of=later + day * DAY)
    known = [each for each in turns if each.time and each.time <= later + day * DAY]
    with filled(turns, at_once=True) as one, filled(known, at_once=True) as other:
        for text in (*QUESTIONS, "painting on 19 May 1997", "heorn"):
            question = analyse(text, one.words(text))
            assert rank(question, one.figures(question, wanted), 20) == ask(other, text)
        assert (one.count(wanted.as_of), one.undated(wanted)) == (len(known), len([t for t in turns if not t.time]))


def test_words_do_not_reach_a_turn_through_one_that_is_later(index: TurnIndex) -> None:
    index.add([turn("a", "a heron", time=400 * DAY), turn("b", "it was late", "a", time=402 * DAY)])
    index.add([turn("c", "an early answer", "b", time=401 * DAY)])
    question = analyse("heron", index.words("heron"))
    assert [each.turn for each in rank(question, index.figures(question), 9)] == ["a", "b", "c"]
    wanted = TurnFilters(as_of=401 * DAY)
    assert [each.turn for each in rank(question, index.figures(question, wanted), 9)] == ["a"]


def test_words_and_links_that_are_later_use_up_no_limit(index: TurnIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearby, "_MOST_SIMILAR", 1)
    monkeypatch.setattr(figures, "_MOST_REACHED", 2)
    index.add([turn("a", "boathouz", time=400 * DAY)])
    index.add(turn(f"later{each}", "boathoa", "a", time=402 * DAY) for each in range(3))
    index.add([turn("b", "an answer", "a", time=400 * DAY)])
    question = analyse("boathouse", index.words("boathouse"))
    ranked = rank(question, index.figures(question, TurnFilters(as_of=401 * DAY)), 9)
    assert [each.turn for each in ranked] == ["a", "b"]


def test_a_turn_without_a_date_is_on_no_date(index: TurnIndex) -> None:
    index.add([turn("undated", "a heron"), turn("dated", "a heron", time=365 * DAY + 1)])
    for text in ("in January", "in January 1970", "on 1970-01-01", "in 1970"):
        question = analyse(text, index.words(text))
        assert [each.turn for each in rank(question, index.figures(question), 9)] == ["dated"] * (text == "in January")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("parseHttpHeader", "parse_http_header fails"),
        ("ParseHTTPHeader", "parse_http_header fails"),
        ("dryRun", "set --dry-run"),
        ("UserMedia", "getUserMedia waits"),
        ("parsehttpheader", None),  # not written like a name of several words
        ("fooBarTheOf", None),
    ],
)
def test_a_name_that_no_turn_has_is_found_by_its_parts(asked: str, expected: str | None) -> None:
    with TurnIndex() as index:
        texts = ("parse_http_header fails", "set --dry-run", "getUserMedia waits", "an ordinary text")
        index.add(IndexedTurn(text, "s", number, (), text) for number, text in enumerate(texts))
        question = analyse(f"why does {asked}?", index.words(f"why does {asked}?"))
        best = max(rank(question, index.figures(question), 9), key=lambda each: each.score, default=None)
        assert (best.turn if best else None) == expected
