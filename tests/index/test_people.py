"""People whom a question names by another name than the labels of their turns."""

from collections.abc import Iterator

import pytest

from slicebase.context.question import analyse
from slicebase.context.ranking import rank
from slicebase.index.narrow import EVERY_TURN, TurnFilters
from slicebase.index.turn_schema import IndexedTurn
from slicebase.index.turns import TurnIndex

DAY = 86_400_000
TALK = (
    "Melanie Weaver: I paint boats",
    "Alexander: everybody should call me Sasha, I paint mills",
    "Melanie Weaver: hello Sasha, and Rob (Robin) says hello, he paints boats, too",
    "Robin: I paint boats in Paris, Melanie, Mel",
    "Alexander: Melanie is not Mella",
)


@pytest.fixture
def index() -> Iterator[TurnIndex]:
    with TurnIndex() as opened:
        opened.add(IndexedTurn(str(number), "s", (1000 + number) * DAY, (), text) for number, text in enumerate(TALK))
        yield opened


def labelled(index: TurnIndex, text: str, wanted: TurnFilters = EVERY_TURN) -> set[int]:
    """Returns the turns that get a worth for their label."""
    question = analyse(text, index.words(text))
    return {int(each.turn) for each in rank(question, index.figures(question, wanted), 9) if each.parts["label"]}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does Melanie paint?", {0, 2}),
        ("What does Weaver paint?", {0, 2}),
        ("What does Mel paint?", {0, 2}),
        ("What does Sasha paint?", {1, 4}),
        ("What does Rob paint?", {3}),
        ("What does rob paint?", set()),  # not written like a name
        ("What does Ale paint?", set()),  # nobody says so
        ("What does Boats paint?", set()),
        ("Who paints in Paris?", set()),  # Melanie is called by name after it
    ],
)
def test_a_person_is_known_by_a_part_of_the_name_and_by_a_nickname(
    index: TurnIndex, question: str, expected: set[int]
) -> None:
    assert labelled(index, question) == expected


def test_a_beginning_that_two_names_have_names_nobody(index: TurnIndex) -> None:
    index.add([IndexedTurn("9", "s", 1009 * DAY, (), "Melissa: I paint boats")])
    assert labelled(index, "What does Mel paint?") == set()


def test_a_nickname_of_later_is_not_known_yet(index: TurnIndex) -> None:
    question = "What does Sasha say about mills?"
    assert labelled(index, question, TurnFilters(as_of=1001 * DAY)) == {1}
    assert labelled(index, question, TurnFilters(as_of=1000 * DAY)) == set()
    index.add([IndexedTurn("9", "s", 1009 * DAY, (), "Robin: call me Hood, I paint mills")])
    assert 3 in labelled(index, "What does Hood say about boats?")
    assert 3 not in labelled(index, "What does Hood say about boats?", TurnFilters(as_of=1008 * DAY))


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Müller", "Mueller"), ("Müller", "Muller"), ("Mueller", "Mueller"), ("Søren", "Soren"), ("Søren", "Soeren"),
        ("Łukasz", "Lukasz"), ("Þór", "Thor"), ("Işık", "Isik"), ("Strauß", "Strauss"), ("Ёлка", "Елка"),
        ("Ελένη", "ΕΛΕΝΗ"), ("José", "Jose"), ("Jose\u0301 Pérez", "José"), ("محمّد", "محمد"), ("राहुल", "राहुल"),
        ("สมชาย", "สมชาย"), ("สุชาติ", "สุชาติ"), ("田中", "田中"), ("김철수", "김철수"), ("נָעֳמִי", "נעמי"),
    ],
)  # fmt: skip
def test_a_name_is_that_of_its_label_in_every_form_in_which_people_write_it(written: str, asked: str) -> None:
    with TurnIndex() as index:
        texts = (f"{written}: I paint boats", "Ada: I paint boats", "I paint boats")
        index.add(IndexedTurn(str(number), "s", (1000 + number) * DAY, (), text) for number, text in enumerate(texts))
        assert labelled(index, f"{asked} paint boats?") == {0}
