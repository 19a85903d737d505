"""The texts of a turn for search and for readers have the words of the text that evidence is cut from."""

from hypothesis import given
from hypothesis import strategies as st

from slicebase.graph.contents import plain_text, readable_text, searched_text
from slicebase.graph.turn import Part, turn_text

_WORDS = st.sampled_from(["please deploy", "Zebulon", "", "a\n\nb", "planner_bot"])
_PARTS = st.builds(
    Part,
    st.sampled_from(["text", "thinking", "code", "tool_result", "pointer"]),
    text=st.none() | _WORDS,
    name=st.none() | _WORDS,
    uri=st.none() | _WORDS,
)


@given(st.lists(_PARTS, max_size=4))
def test_what_is_not_a_call_is_searched_and_read_as_it_is_cited(parts: list[Part]) -> None:
    assert plain_text(parts) == turn_text(parts)
    assert readable_text(parts).replace("[thinking]\n", "") == turn_text(parts)


def test_a_call_is_its_name_and_its_arguments_as_text() -> None:
    call = Part("tool_call", name="Bash", arguments={"command": "make test", "env": {"CI": 1}})
    assert plain_text([call]) == "Bash\ncommand: make test\nenv.CI: 1"
    assert readable_text([call]) == "[call] Bash\ncommand: make test\nenv.CI: 1"


def test_colours_of_a_terminal_are_not_searched_because_they_stand_inside_words() -> None:
    output = "\x1b[0;31merror\x1b[0m in src/\x1b[01;31m\x1b[Kmain\x1b[m\x1b[K.rs, a[0m] and \x1b alone"
    assert searched_text([Part("tool_result", output)]) == "error in src/main.rs, a[0m] and \x1b alone"
