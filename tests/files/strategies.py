"""Frontmatter as people, editors and other programs write it, made by hypothesis."""

from typing import NamedTuple

from hypothesis import strategies as st

Path = tuple[str, ...]


class Line(NamedTuple):
    """A line of a header, and the path of the key or item that it belongs to; () for none."""

    text: str
    owner: Path


class Header(NamedTuple):
    lines: tuple[Line, ...]
    newline: str

    @property
    def text(self) -> str:
        return "".join(line.text + self.newline for line in self.lines)

    @property
    def paths(self) -> list[Path]:
        return sorted({line.owner for line in self.lines if line.owner})


# Pieces that mean something to YAML in one place or another.
ATOMS = (
    "a", "b", "k: v", "a: ", "b:", "- ", "-", "\n", "\n", "\n  ", "\n ", "\n    ", "\n  - ", "\n- ", "  ", " ", "#c",
    " # c", "'", '"', "''", "'x'", '"y"', "[", "]", "{", "}", ",", ", ", ":", ": ", "|", "|-", ">", "|+", ">-", "|2",
    ">1-", "1", "01", "1.5", "-1", "0x1", "true", "null", "~", "?", "? ", "&a", "*a", "!t", "%", "@", "`", "---", "...",
    "\r\n", "\t", "\\", "\\n", "\\u00e9", "\\ud83d\\ude00", "é", "😀", "x y", "key", "http://x", "12:30", "1_0", ".5",
    "1e3", "no", "=", "<<", "\n\n", "\n\n  ", "\n   ", "\n      ", "c: d", "\nc: d", "\n  e: f", ".inf",
    "\ufeff", "\x85",
)  # fmt: skip
soup = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=14).map("".join) | st.builds(
    "k: {}".format, st.lists(st.sampled_from(ATOMS), min_size=1, max_size=12).map("".join)
)

_ORDINARY = (
    'v: "1"', "id: 01JARCH00000000000000001", "title: A title", "summary: >-", "  Two lines", "  of text.", "body:",
    "  type: conversation", "  conversation:", "    participants: [user, assistant]", "    includes_tool_calls: true",
    "contract:", '  purpose: "What: it is for."', "  exclude:", "    - one", "    - 'two'", "links:", "- rel: see_also",
    "  to: ./x.slice", "meta: {a: 1, b: [c, d]}",
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """An ordinary header with some pieces of YAML dropped into it, over it or in place of a few characters."""
    first = draw(st.integers(0, len(_ORDINARY) - 1))
    text = "\n".join(_ORDINARY[first : first + draw(st.integers(1, 9))])
    for _ in range(draw(st.integers(1, 3))):
        place, cut = draw(st.integers(0, len(text))), draw(st.sampled_from([0, 0, 1, 2, 5]))
        text = text[:place] + draw(st.sampled_from(ATOMS)) + text[place + cut :]
    return text


# Any text that a file can hold, with what YAML gives a meaning more often.
texts = st.text(
    st.sampled_from("ab1 0:#-?,[]{}&*!|>'\"%@`~=.\n\t\\_éß\x85\u2028\xa0😀") | st.characters(exclude_categories=["Cs"]),
    max_size=12,
)
numbers = st.integers(-(10**18), 10**18) | st.floats()
scalars = texts | numbers | st.booleans() | st.none() | st.sampled_from(["no", "1", "01", "2026-01-31", "1_0", "0x1F"])
keys = st.sampled_from(["a", "b c", "d-e", "n", "1", "true", "x: y", "[z]", ""]) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)

_NAMES = ("title", "summary", "meta", "links", "exclude", "x-y", "note", "a b", "v", "tags")
# A value behind its key: its part of the key's line, and the lines below it, relative to the key's column.
_INLINE = (
    "word", "two words", "1", "01", "2.50", "true", "~", "", "'single'", "'it''s'", '"double \\" \\u00e9"',
    "http://x/y#z", "a, b", "[]", "{}", "[a, b]", "[a, 'b, c', [d]]", "{k: v, l: [1]}", '{"k":v}', "[a: b]", "{k, l: }",
)  # fmt: skip
_BELOW = (
    ("first line", ["  second line", "", "    third"]),
    ('"quoted', ["   over lines", "  \\", '  and on"']),
    ("'quoted", ["  too'"]),
    ("|", ["  literal", "   more", "", "  end"]),
    ("|-", ["  literal"]),
    (">", ["  folded", "  text", "", "  end"]),
    (">-", ["    deep", "    text"]),
    ("|2", ["   kept space"]),
    ("[a,", ["  b, # a comment", "  c]"]),
    ("{k: v,", ["  l: w }"]),
    ("", ["  alone below"]),
    ("", ["  'quoted below'  # a comment"]),
    ("|+", ["  kept", "", ""]),
)  # fmt: skip
_COMMENTS = ("# note", "  # indented note", "#", "")


@st.composite
def headers(draw: st.DrawFn) -> Header:
    """Well-formed frontmatter in odd styles, each line with its owner."""
    beside = draw(st.booleans())
    lines = [Line("# top", ())] if draw(st.booleans()) else []
    column = draw(st.sampled_from([0, 0, 0, 2]))
    if beside:
        lines += draw(_entry((), "other", column, 2))
    lines += [Line(" " * column + "slice:", ("slice",))]
    lines += draw(_mapping(("slice",), column + draw(st.sampled_from([1, 2, 2, 4])), 0))
    if beside:
        lines += draw(_entry((), "after", column, 2))
    return Header(tuple(lines), draw(st.sampled_from(["\n", "\n", "\r\n"])))


@st.composite
def _mapping(draw: st.DrawFn, path: Path, column: int, depth: int) -> list[Line]:
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3, unique=True))
    lines: list[Line] = []
    for name in names:
        if draw(st.integers(0, 4)) == 0:
            kept = lines and not lines[-1].text  # another empty line would belong to the text before it
            lines.append(Line(draw(st.sampled_from(_COMMENTS[:3] if kept else _COMMENTS)), ()))
        lines += draw(_entry(path, name, column, depth))
    return lines


@st.composite
def _entry(draw: st.DrawFn, path: Path, name: str, column: int, depth: int) -> list[Line]:
    here = (*path, name)
    key = draw(st.sampled_from([name, name, name, f"'{name}'", f'"{name}"', name + " "]))
    start = " " * column + key + ":"
    shape = draw(
        st.sampled_from(["inline", "inline", "below", "mapping", "list"] if depth < 2 else ["inline", "below"])
    )
    if shape == "mapping":
        comment = draw(st.sampled_from(["", "  # why"]))
        return [
            Line(start + comment, here),
            *draw(_mapping(here, column + draw(st.sampled_from([1, 2, 4])), depth + 1)),
        ]
    if shape == "list":
        return [Line(start, here), *draw(_list(here, column + draw(st.sampled_from([0, 2, 3])), depth + 1))]
    return [Line(text, here) for text in draw(_leaf(start, column))]


@st.composite
def _list(draw: st.DrawFn, path: Path, column: int, depth: int) -> list[Line]:
    lines: list[Line] = []
    for position in range(draw(st.integers(1, 2))):
        here = (*path, str(position))
        dash = " " * column + "-" + draw(st.sampled_from([" ", "  "]))
        shape = draw(st.sampled_from(["inline", "below", "mapping", "list"] if depth < 2 else ["inline"]))
        if shape in ("mapping", "list"):
            inner = draw((_mapping if shape == "mapping" else _list)(here, len(dash), depth + 1))
            while not inner[0].owner:  # a comment cannot stand behind the dash
                inner.pop(0)
            lines += [Line(dash + inner[0].text.lstrip(" "), inner[0].owner), *inner[1:]]
        else:
            lines += [Line(text, here) for text in draw(_leaf(dash.rstrip(" "), column))]
    return lines


@st.composite
def _leaf(draw: st.DrawFn, start: str, column: int) -> list[str]:
    comment = draw(st.sampled_from(["", "", "  ", " # why", " #"]))
    if draw(st.booleans()):
        text = draw(st.sampled_from(_INLINE))
        return [f"{start} {text}".rstrip(" ") + comment]
    head, below = draw(st.sampled_from(_BELOW))
    first = f"{start} {head}".rstrip(" ") + (comment if head[:1] in ("|", ">", "") else "")
    return [first, *((" " * column + line if line else line) for line in below)]
