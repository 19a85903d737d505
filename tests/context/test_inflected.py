"""Words whose forms have different stems."""

from slicebase.context.inflected import in_lower_case, inflections
from slicebase.index.turns import TurnIndex


def test_every_form_belongs_to_one_word_and_has_another_form() -> None:
    asked: list[list[str]] = []

    def stems(text: str) -> list[str]:
        asked.append(sorted({word.stem for word in index.words(text.upper())}))
        return asked[-1]

    with TurnIndex() as index:
        found = inflections(stems)
    assert sum(map(len, asked)) == len(found) > 200, "no form is in two groups"
    assert all(found.values()), "a group of one stem needs no entry"
    assert found["bought"] == ("bui",)


def test_names_and_parts_of_words_are_no_forms() -> None:
    assert in_lower_case("Rose won't buy what Drew's re_read_it gave up") == {"buy", "what", "gave", "up"}
