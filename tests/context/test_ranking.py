"""Ranking by figures alone: what a turn gets from its neighbours, and that no order changes the result."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.context.question import Question
from slicebase.context.ranking import PARTS, SUMMARY, UNSPOKEN, Figures, Matches, Ranked, TurnFigures, rank
from slicebase.context.when import When

VOICES = st.sampled_from(["", "user", "assistant", UNSPOKEN, SUMMARY])
NOTHING_DATED = Question((), ())


def turn(
    number: int, *, session: int = 1, time: int = 0, size: int = 50, label: str = "", opens: int = 0, voice: str = ""
) -> TurnFigures:
    return TurnFigures(number, f"turn-{number:04}", session, time, size, label, opens, 0, voice)


@dataclass
class Index:
    """Builds figures for a test."""

    turns: Iterable[TurnFigures]
    matches: Mapping[str, Mapping[int, int]]
    links: Collection[tuple[int, int]] = ()
    rarity: Mapping[str, int] = field(default_factory=dict)

    def figures(self) -> Figures:
        return Figures(
            indexed=1000,
            mean_size=50,
            years=(1970, 2026),
            matches=tuple(
                Matches(word, (word,), self.rarity.get(word, len(counts)), counts)
                for word, counts in self.matches.items()
            ),
            turns={figures.number: figures for figures in self.turns},
            links=self.links,
        )

    def ranked(self, question: Question = NOTHING_DATED) -> dict[int, Ranked]:
        """Returns the ranking by the number of the turn, the best first."""
        return {int(each.turn[-4:]): each for each in rank(question, self.figures(), 1000)}


CHAIN = [(number, number + 1) for number in range(1, 12)]


def test_a_turn_gets_less_from_distant_turns_and_a_reply_gets_more_than_an_earlier_turn() -> None:
    ranked = Index(map(turn, range(1, 13)), {"fox": {6: 1}}, CHAIN).ranked()
    assert list(ranked) == [6, 7, 5, 8, 4, 9, 3, 10, 2]
    worth = ranked[6].parts["words"]
    assert [ranked[number].parts["neighbours"] for number in (7, 8)] == [worth * 7 // 10, worth * 7 // 10 * 7 // 10]
    assert ranked[5].parts["neighbours"] == worth * 5 // 10
    assert ranked[6].parts["neighbours"] == 0


def test_a_word_counts_once_from_where_it_is_worth_most() -> None:
    alone = Index(map(turn, range(1, 4)), {"fox": {1: 1}}, CHAIN[:2], {"fox": 2}).ranked()
    between = Index(map(turn, range(1, 4)), {"fox": {1: 1, 3: 1}}, CHAIN[:2], {"fox": 2}).ranked()
    assert between[2].parts == alone[2].parts


def test_a_match_behind_a_weaker_one_still_reaches_further() -> None:
    ranked = Index(map(turn, range(1, 4)), {"fox": {2: 1, 3: 3}}, CHAIN[:2]).ranked()
    assert ranked[1].parts["neighbours"] == ranked[3].parts["words"] * 5 // 10 * 7 // 10


def test_different_words_around_a_turn_add_up() -> None:
    one = Index(map(turn, range(1, 4)), {"fox": {1: 1}}, CHAIN[:2]).ranked()
    both = Index(map(turn, range(1, 4)), {"fox": {1: 1}, "hen": {3: 1}}, CHAIN[:2]).ranked()
    assert both[2].parts["neighbours"] > one[2].parts["neighbours"]


def test_another_branch_gets_nothing() -> None:
    """Turn 1 has the replies 2 and 3; the words of 2 do not count for 3."""
    ranked = Index(map(turn, range(1, 4)), {"fox": {2: 1}}, [(1, 2), (1, 3)]).ranked()
    assert list(ranked) == [2, 1]


def test_a_rarer_word_is_worth_more() -> None:
    ranked = Index(map(turn, range(1, 3)), {"fox": {1: 1}, "hen": {2: 1}}, rarity={"fox": 2, "hen": 200}).ranked()
    assert list(ranked) == [1, 2]


def test_a_label_that_the_question_names_lifts_a_turn() -> None:
    turns = [turn(1, label="ito ken"), turn(2)]
    ranked = Index(turns, {"fox": {1: 1, 2: 1}, "ken": {1: 1}}, rarity={"ken": 900}).ranked()
    assert ranked[1].parts["label"] > 0 == ranked[2].parts["label"]


def test_a_label_counts_for_the_part_of_a_turn_that_does_not_ask() -> None:
    turns = [turn(number, label="ken")._replace(asks=asks) for number, asks in ((1, 0), (2, 3), (3, 10))]
    ranked = Index(turns, {"ken": {1: 1, 2: 1, 3: 1}}).ranked()
    whole = ranked[1].parts["label"]
    assert [ranked[number].parts["label"] for number in (1, 2, 3)] == [whole, whole * 7 // 10, 0]
    assert all(each.score == sum(each.parts.values()) for each in ranked.values())


@settings(max_examples=30)
@given(
    st.sets(st.tuples(st.integers(1, 9), st.integers(1, 9)).filter(lambda link: link[0] < link[1]), max_size=12),
    st.dictionaries(st.integers(1, 9), st.integers(1, 40), min_size=1),
)
def test_a_word_counts_from_the_place_where_it_is_worth_most(
    links: set[tuple[int, int]], counts: dict[int, int]
) -> None:
    """Compared with every way along the links, of at most four steps up or four steps down."""
    turns = list(map(turn, range(1, 10)))
    ranked = Index(turns, {"fox": counts}, links).ranked()
    worths = {number: ranked[number].parts["words"] for number in counts}
    best = dict(worths)
    for ways, first in ((links, 7), ({(reply, earlier) for earlier, reply in links}, 5)):
        layer, share = list(worths.items()), first
        for _ in range(4):
            layer = [(end, worth * share // 10) for number, worth in layer for start, end in ways if start == number]
            best = {
                each: max(best.get(each, 0), *(worth for end, worth in layer if end == each), 0)
                for each in range(1, 10)
            }
            share = 7
    found = {number: each.parts["words"] + each.parts["neighbours"] for number, each in ranked.items()}
    assert found == {number: worth for number, worth in best.items() if worth}


YEAR = 365 * 86_400_000  # what is earlier has no date


def test_a_turn_on_a_date_that_the_question_names_is_found_without_words_and_the_precise_date_counts_more() -> None:
    times = ((1, YEAR), (2, YEAR + 86_400_000), (3, 10**11), (4, 0))
    index = Index([turn(number, time=time) for number, time in times], {})
    ranked = index.ranked(Question((), (When(None, 1), When(1970, 1), When(1971, 1), When(1971, 1, 1))))
    assert list(ranked) == [1, 2]
    assert ranked[1].parts["date"] > ranked[2].parts["date"] > 0


def test_a_turn_that_says_something_and_one_that_opens_a_conversation_come_before_their_equals() -> None:
    turns = [turn(1, size=20), turn(2, size=50, opens=1), turn(3, size=5000)]
    ranked = Index(turns, {"fox": {1: 1, 2: 1, 3: 2}}).ranked()
    assert ranked[2].parts["opening"] > 0 == ranked[1].parts["opening"]
    assert ranked[3].parts["substance"] == ranked[2].parts["substance"] > ranked[1].parts["substance"]


def test_turns_of_a_session_get_a_share_of_its_best_turn() -> None:
    turns = [turn(1, session=1), turn(2, session=1), turn(3, session=2)]
    ranked = Index(turns, {"fox": {1: 1}, "hen": {2: 1, 3: 1}}).ranked()
    assert ranked[2].parts["session"] == ranked[1].parts["session"] == ranked[1].parts["words"] // 10
    assert ranked[2].score > ranked[3].score


def test_without_words_or_matches_nothing_is_ranked() -> None:
    assert rank(NOTHING_DATED, Index([], {}).figures(), 10) == []
    assert Index([turn(1)], {}).ranked() == {}
    assert rank(NOTHING_DATED, Index([turn(1)], {"fox": {1: 1}}).figures(), 0) == []


def test_of_equal_scores_the_newest_comes_first_then_they_go_by_id() -> None:
    """Ruling 43."""
    turns = [turn(3), turn(1), turn(2), turn(4, time=1)]
    assert list(Index(turns, {"fox": dict.fromkeys(range(1, 5), 1)}).ranked()) == [4, 1, 2, 3]


def test_calls_results_and_thinking_keep_half_of_every_part_and_a_summary_gets_a_fifth_more() -> None:
    turns = [
        turn(1, voice="user"),
        turn(2, voice="assistant"),
        turn(3, voice=UNSPOKEN),
        turn(4),
        turn(5, voice=SUMMARY),
    ]
    ranked = Index(turns, {"fox": dict.fromkeys(range(1, 6), 1)}).ranked()
    assert list(ranked) == [5, 1, 2, 4, 3]
    assert ranked[1].parts == ranked[2].parts == ranked[4].parts
    assert ranked[5].parts == {name: part * 12 // 10 for name, part in ranked[1].parts.items()}
    assert ranked[3].parts == {name: part // 2 for name, part in ranked[1].parts.items()}


def test_a_question_about_its_author_lifts_what_the_author_said() -> None:
    turns = [turn(1, voice="assistant"), turn(2, voice="user"), turn(3)]
    ranked = Index(turns, {"fox": dict.fromkeys(range(1, 4), 1)}).ranked(Question((), (), of_author=True))
    assert list(ranked) == [2, 3, 1]
    assert ranked[1].parts["words"] == ranked[2].parts["words"] * 6 // 10


def test_less_of_what_one_says_reaches_the_answer_of_an_assistant_or_to_it() -> None:
    for voices, share in ((("user", "user"), 7), (("user", "assistant"), 4), (("assistant", "user"), 4)):
        turns = [turn(number, voice=voice) for number, voice in enumerate(voices, 1)]
        ranked = Index(turns, {"fox": {1: 1}}, [(1, 2)]).ranked()
        assert ranked[2].parts["neighbours"] == ranked[1].parts["words"] * share // 10


def test_who_asks_for_help_finds_what_the_user_always_wants() -> None:
    turns = [turn(1, voice="user")._replace(rules=1), turn(2, voice="user", time=1)]
    index = Index(turns, {"fox": {1: 1, 2: 1}})
    assert list(index.ranked()) == [2, 1]
    helped = index.ranked(Question((), (), wants_help=True))
    assert list(helped) == [1, 2]
    assert helped[1].parts["rule"] > 0 == helped[2].parts["rule"]


@st.composite
def indexes(draw: st.DrawFn) -> Index:
    """Draws small forests with a few words; every turn replies to one or two earlier turns, or opens a session."""
    count = draw(st.integers(1, 14))
    links = [
        (parent, number)
        for number in range(2, count + 1)
        for parent in draw(st.sets(st.integers(max(1, number - 3), number - 1), max_size=2))
    ]
    counts = st.dictionaries(st.integers(1, count), st.integers(1, 3), min_size=1, max_size=4)
    matches = draw(st.dictionaries(st.sampled_from(["fox", "hen", "cow"]), counts, max_size=3))
    voices = draw(st.lists(VOICES, min_size=count, max_size=count))
    turns = [turn(number, session=number % 3, voice=voice) for number, voice in enumerate(voices, 1)]
    return Index(turns, matches, links)


@settings(max_examples=50)
@given(indexes())
def test_the_parts_of_a_score_have_names_and_add_up_to_it(index: Index) -> None:
    for ranked in index.ranked().values():
        assert tuple(ranked.parts) == PARTS
        assert sum(ranked.parts.values()) == ranked.score
        assert min(ranked.parts.values()) >= 0


@settings(max_examples=50)
@given(indexes(), st.randoms(use_true_random=False))
def test_the_order_in_which_figures_come_changes_nothing(index: Index, random: Random) -> None:
    """Ruling 43."""

    def shuffled(values: Iterable[Any]) -> list[Any]:
        return random.sample(listed := list(values), len(listed))

    other = Index(
        shuffled(index.turns),
        {word: dict(shuffled(counts.items())) for word, counts in shuffled(index.matches.items())},
        shuffled(index.links),
    )
    assert list(other.ranked().values()) == list(index.ranked().values())


@settings(max_examples=50)
@given(indexes())
def test_neighbours_get_what_every_single_way_would_bring_them_at_most(index: Index) -> None:
    """The simple version for comparison: each word is spread along each path alone, and its highest worth counts."""
    speaking = {UNSPOKEN: "", SUMMARY: ""}  # others keep another share of the whole
    turns = [each._replace(voice=speaking.get(each.voice, each.voice)) for each in index.turns]
    index = Index(turns, index.matches, index.links)
    voices = {each.number: each.voice for each in turns}
    ranked = index.ranked()
    links = list(index.links)
    expected: dict[int, int] = {}
    for word, counts in index.matches.items():
        single = Index(index.turns, {word: counts}).ranked()
        best = {number: single[number].parts["words"] for number in counts}
        for number in counts:
            for first, ways in ((7, links), (5, [(reply, before) for before, reply in links])):
                carried = {number: single[number].parts["words"]}
                for step in range(4):
                    share = first if step == 0 else 7
                    onward: dict[int, int] = {}
                    for here, there in ways:
                        if here in carried:
                            answers = ways is links and {voices[here], voices[there]} == {"user", "assistant"}
                            reduced = carried[here] * (4 if answers else share) // 10
                            onward[there] = max(onward.get(there, 0), reduced)
                    carried = onward
                    for there, worth in carried.items():
                        best[there] = max(best.get(there, 0), worth)
        for number, worth in best.items():
            expected[number] = expected.get(number, 0) + worth
    assert {number: each.parts["words"] + each.parts["neighbours"] for number, each in ranked.items()} == expected
