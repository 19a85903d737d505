"""The scanner: reads a YAML text into a tree in which every node has its position.

It defines what Slicebase reads: the YAML 1.2 that people write into headers, without anchors, aliases, tags,
directives, several documents and keys that are not one scalar (ruling 22). It is as strict as YAML 1.2, except for
the indentation inside brackets, where all readers are lenient. It says why it refuses a text.

    node   = block-list | block-map | leaf                   leaf = flow | quoted | plain | block scalar
    block-list = ("-" node)+  with every dash in one column
    block-map  = (key ":" node)+  with every key in one column
    flow   = "[" (leaf | pair) ("," …)* "]"  |  "{" pair ("," …)* "}"           pair = key [":" leaf]

Each method starts on a token. A block method ends on the first character of the next line that has content, with
`indent` as its column (-1 at the end of the text). A flow method ends just past its last character. `least` is the
smallest column at which the lines of a node may start.
"""

import re
from typing import Any, Literal, NamedTuple

from slicebase.files.yaml.scalars import (
    LINE_END,
    BadEscapeError,
    Cursor,
    join_block,
    join_plain,
    resolve,
    unquote_double,
    unquote_single,
)

# The tree

NodeForm = Literal[
    "empty", "plain", "single", "double", "literal", "folded", "block-map", "flow-map", "block-list", "flow-list"
]


class Node(NamedTuple):
    """A scalar, a mapping or a list. `start` and `end` are offsets into the text, `end` past the last character."""

    form: NodeForm
    start: int
    end: int
    text: str = ""  # a scalar's content
    entries: "tuple[NodeEntry, ...]" = ()
    column: int = 0  # of the keys or dashes of a block collection, from 0

    @property
    def is_map(self) -> bool:
        return self.form in ("block-map", "flow-map")

    @property
    def is_list(self) -> bool:
        return self.form in ("block-list", "flow-list")

    @property
    def is_scalar(self) -> bool:
        return not self.entries and not self.is_map and not self.is_list

    @property
    def value(self) -> Any:
        """The node as plain values."""
        if self.is_map:
            return {entry.key: entry.value.value for entry in self.entries}
        if self.is_list:
            return [entry.value.value for entry in self.entries]
        return resolve(self.text) if self.form in ("plain", "empty") else self.text

    def child(self, step: str) -> "NodeEntry | None":
        """Returns the entry with this key, or at this position of a list; None if there is none."""
        if self.is_list:
            position = int(step) if step.isascii() and step.isdigit() and len(step) < 9 else len(self.entries)
            return self.entries[position] if position < len(self.entries) else None
        return next((entry for entry in self.entries if entry.key == step), None)


class NodeEntry(NamedTuple):
    """A key with its value, or an item of a list."""

    start: int  # of the key, the dash, or a flow list's item
    after: int  # just past the colon or the dash; the start of a flow list's item
    key: str  # "" in a list
    value: Node

    @property
    def end(self) -> int:
        return max(self.after, self.value.end)


# The tokens

# The characters that YAML does not allow, the byte order mark, and a carriage return that does not end a line.
# They are listed one by one: a class of all other characters would take ten times as long to compile.
_FOREIGN = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x84\\x86-\\x9f\\ud800-\\udfff\\ufeff\\ufffe\\uffff](?!(?<=\r)\n)")
_MARKER = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n])", re.MULTILINE)

_WHITE = re.compile(r"[ \t]*")
_FLOW_GAP = re.compile(r"[ \t]*(?:(?:(?<=[ \t\n])#[^\r\n]*)?\r?\n(?P<indent> *)[ \t]*)*+")
_NEXT_LINE = re.compile(r"[ \t]*\r?\n(?P<empty>(?:[ \t]*\r?\n)*)(?P<indent> *)[ \t]*+(?!#)")

_TEXT_LINE = re.compile(r"(?<!\\)(?<!\\\r)\n(?P<indent> *)(?=[^ \r\n])")

_DASH = re.compile(r"-(?=[ \t\r\n])")
_COLON = re.compile(r"[ \t]*:(?=[ \t\r\n])")
_SINGLE = re.compile(r"'((?:[^']++|'')*+)'")
_DOUBLE = re.compile(r'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
_BLOCK_SCALAR = re.compile(
    r"[|>](?:(?P<chomp1>[-+]?)(?P<width1>[1-9]?)|(?P<width2>[1-9])(?P<chomp2>[-+]))(?=[ \t\r\n])"
)


def _plain(outside: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns patterns for the start of a plain scalar and for its text on one line; `outside` characters end it."""
    safe = rf"[^ \t\r\n{outside}]"
    first = rf"(?:[^ \t\r\n\-?:,\[\]{{}}#&*!|>'\"%@`]|[-?:](?={safe}))"
    rest = rf"(?:[^ \t\r\n:{outside}]++|:(?={safe})|[ \t]++(?=[^ \t\r\n#:{outside}]|:{safe}))"
    return re.compile(first), re.compile(rf"{rest}++")


_PLAIN = {False: _plain(""), True: _plain(r",\[\]{}")}
_KEY = re.compile(
    r"(?:'(?:[^'\r\n]++|'')*+'|\"(?:[^\"\\\r\n]++|\\[^\r\n])*+\"|(?=" + _PLAIN[False][0].pattern + ")"
    + _PLAIN[False][1].pattern + ")" + _COLON.pattern
)  # fmt: skip


# The scanner

_CLOSING = {"[": "]", "{": "}"}


class _Bracket(NamedTuple):
    """An open flow collection."""

    start: int
    close: str
    least: int

    @property
    def holds_map(self) -> bool:
        return self.close == "}"


def scan(text: str, first_line: int = 1) -> Node:
    """Returns the tree of a YAML text. `first_line` is the number of its first line if it is part of a file."""
    return _Scanner(text, first_line).document()


class _Scanner(Cursor):
    # The document

    def document(self) -> Node:
        if foreign := _FOREIGN.search(self.text):
            self.fail("yaml-character", f"YAML does not allow the character U+{ord(foreign[0]):04X}", foreign.start())
        if marker := _MARKER.search(self.text):
            self.fail("yaml-documents", f"`{marker[0]}` starts or ends a document", marker.start(), "keep one document")
        self.next_content()
        if self.indent < 0:
            return Node("empty", 0, 0)
        node = self.block_node(0, self.indent)
        if self.indent >= 0:
            self.fail("yaml-syntax", "this line does not belong to anything before it", hint="check the indentation")
        return node

    # Block collections

    def block_node(self, least: int, column: int | None) -> Node:
        """Reads a node. `column` is where a block collection may start; None after `key:` on the same line."""
        if column is not None:
            if _DASH.match(self.text, self.pos):
                return self.block_list(column)
            if _KEY.match(self.text, self.pos):
                return self.block_map(column)
        if self.char in ("|", ">"):
            return self.block_scalar(least)
        leaf = self.leaf(least, flow=False)
        self.end_line()
        return leaf

    def block_list(self, column: int) -> Node:
        self.deeper()
        start, entries = self.pos, list[NodeEntry]()
        while self.indent == column or not entries:
            if not _DASH.match(self.text, self.pos):
                break
            dash = self.pos
            self.pos += 1
            entries.append(NodeEntry(dash, self.pos, "", self.entry_value(column, in_list=True)))
        self.depth -= 1
        return Node("block-list", start, entries[-1].value.end, entries=tuple(entries), column=column)

    def block_map(self, column: int) -> Node:
        self.deeper()
        start, entries, keys = self.pos, list[NodeEntry](), set[str]()
        while self.indent == column or not entries:
            if not _KEY.match(self.text, self.pos):
                self.fail_key()
            key = self.leaf(0, flow=False)
            self.note_key(keys, key.text, key.start)
            colon = _COLON.match(self.text, self.pos)
            assert colon
            self.pos = colon.end()
            entries.append(NodeEntry(key.start, self.pos, key.text, self.entry_value(column, in_list=False)))
        self.depth -= 1
        if self.indent > column:
            self.fail("yaml-syntax", "this line is indented too far", hint=f"its keys start in column {column + 1}")
        return Node("block-map", start, entries[-1].value.end, entries=tuple(entries), column=column)

    def entry_value(self, column: int, *, in_list: bool) -> Node:
        """Reads the value after a dash or a key's colon, on the same line or below."""
        after = self.pos
        if not LINE_END.match(self.text, after):
            white = _WHITE.match(self.text, after)
            assert white
            self.pos = white.end()
            place = self.pos - self.text.rfind("\n", 0, self.pos) - 1
            return self.block_node(column + 1, place if in_list and "\t" not in white[0] else None)
        self.end_line()
        # A list may be in the column of its key (YAML 1.2.2, section 8.2.1).
        in_key_column = not in_list and self.indent == column and _DASH.match(self.text, self.pos)
        if self.indent > column or in_key_column:
            return self.block_node(column + 1, self.indent)
        return Node("empty", after, after)

    def note_key(self, keys: set[str], key: str, start: int) -> None:
        if key in keys:
            self.fail("yaml-duplicate-key", f"the mapping has the key {key!r} twice", start, "keep one of them")
        keys.add(key)

    # Scalars

    def leaf(self, least: int, *, flow: bool) -> Node:
        if self.char in ("[", "{"):
            return self.flow(least)
        if flow:
            least = 0  # inside brackets all readers ignore the indentation of a scalar's further lines
        if self.char in ('"', "'"):
            return self.quoted(least)
        first, _ = _PLAIN[flow]
        if not first.match(self.text, self.pos):
            self.fail_start()
        return self.plain(least, flow=flow)

    def plain(self, least: int, *, flow: bool) -> Node:
        _, rest = _PLAIN[flow]
        start, lines, empty = self.pos, list[tuple[int, str]](), 0
        while line := rest.match(self.text, self.pos):
            lines.append((empty, line[0]))
            self.pos = line.end()
            below = _NEXT_LINE.match(self.text, self.pos)
            if not below or len(below["indent"]) < least or not rest.match(self.text, below.end()):
                break
            empty = below["empty"].count("\n")
            self.pos = below.end()
        return Node("plain", start, self.pos, join_plain(lines))

    def quoted(self, least: int) -> Node:
        start = self.pos
        form: NodeForm = "double" if self.char == '"' else "single"
        found = (_DOUBLE if form == "double" else _SINGLE).match(self.text, start)
        if not found:
            self.fail("yaml-syntax", "the quote that opens here is never closed")
        self.check_lines(start, found.end(), least)
        try:
            text = unquote_double(found[1]) if form == "double" else unquote_single(found[1])
        except BadEscapeError as error:
            place = start + 1 + error.offset
            self.fail("yaml-syntax", f"YAML has no escape {error.escape!r}", place, "write a backslash as `\\\\`")
        self.pos = found.end()
        return Node(form, start, self.pos, text)

    def check_lines(self, start: int, end: int, least: int) -> None:
        """Checks that the lines of a quoted scalar are indented. Readers ignore the indentation after a backslash."""
        for line in _TEXT_LINE.finditer(self.text, start, end - 1):
            if len(line["indent"]) < least:
                self.fail("yaml-syntax", "a line of this text is indented too little", line.end())

    def block_scalar(self, least: int) -> Node:
        start = self.pos
        head = _BLOCK_SCALAR.match(self.text, start)
        if not head:
            self.fail("yaml-syntax", f"only a digit 1-9 and + or - may follow `{self.char}`", hint="quote the text")
        form: NodeForm = "literal" if self.char == "|" else "folded"
        chomping = head["chomp1"] or head["chomp2"] or ""
        width = head["width1"] or head["width2"]
        self.pos = head.end()
        end_of_head = LINE_END.match(self.text, self.pos)
        if not end_of_head:
            self.fail_trailing()
        end, self.pos = self.pos, end_of_head.end()
        lines, ends = self.block_lines(max(least - 1, 0) + int(width) if width else None, least)
        used = len(lines)
        while used and not lines[used - 1] and chomping != "+":
            used -= 1
        self.next_content()
        text = join_block(lines, folded=form == "folded", chomping=chomping)
        return Node(form, start, ends[used - 1] if used else end, text)

    def block_lines(self, indent: int | None, least: int) -> tuple[list[str], list[int]]:
        """Reads a block scalar. Returns its lines, and the offset of the end of each."""
        lines, ends, widest = list[str](), list[int](), 0
        while self.pos < len(self.text):
            line_end = self.text.index("\n", self.pos)
            line = self.text[self.pos : line_end].removesuffix("\r")
            spaces = len(line) - len(line.lstrip(" "))
            if spaces < len(line):
                if indent is None:
                    if spaces < least:
                        break
                    indent = spaces
                    if widest > indent:
                        self.fail("yaml-syntax", "an empty line above is indented further than this text")
                if spaces < indent:
                    break
            else:
                widest = max(widest, spaces)
            lines.append(line[indent:] if indent is not None else "")
            ends.append(self.pos + len(line))
            self.pos = line_end + 1
        return lines, ends

    # Flow collections

    def flow(self, least: int) -> Node:
        self.deeper()
        bracket = _Bracket(self.pos, _CLOSING[self.char], least)
        entries, keys = list[NodeEntry](), set[str]()
        self.pos += 1
        while self.flow_gap(bracket) != bracket.close:
            entries.append(self.flow_entry(bracket))
            if bracket.holds_map:
                self.note_key(keys, entries[-1].key, entries[-1].start)
            if self.flow_gap(bracket) == ",":
                self.pos += 1
            elif self.char != bracket.close:
                self.fail("yaml-syntax", f"`,` or `{bracket.close}` is expected before {self.rest_of_line}")
        self.pos += 1
        self.depth -= 1
        form: NodeForm = "flow-map" if bracket.holds_map else "flow-list"
        return Node(form, bracket.start, self.pos, entries=tuple(entries))

    def flow_entry(self, bracket: _Bracket) -> NodeEntry:
        node = self.leaf(bracket.least, flow=True)
        colon = self.flow_colon(bracket, node)
        if colon is None and not bracket.holds_map:
            return NodeEntry(node.start, node.start, "", node)
        if not node.is_scalar:
            self.fail("yaml-key", "a collection is used as a key here", node.start, "a key is one word or quoted text")
        if bracket.holds_map:
            return self.flow_pair(bracket, node, colon)
        self.deeper()
        pair = self.flow_pair(bracket, node, colon)
        self.depth -= 1
        if "\n" in self.text[node.start : pair.after]:
            self.fail("yaml-key", "a key is on several lines", node.start, "write it on one line")
        return NodeEntry(node.start, node.start, "", Node("flow-map", node.start, self.pos, entries=(pair,)))

    def flow_pair(self, bracket: _Bracket, key: Node, colon: int | None) -> NodeEntry:
        self.pos = after = colon or key.end
        if colon is None or self.flow_gap(bracket) in (",", "}", "]"):
            self.pos = after
            return NodeEntry(key.start, after, key.text, Node("empty", after, after))
        return NodeEntry(key.start, after, key.text, self.leaf(bracket.least, flow=True))

    def flow_colon(self, bracket: _Bracket, key: Node) -> int | None:
        """Returns the offset just past the colon that makes this node a key, None if it is not a key.

        A quoted key needs no space after its colon.
        """
        if self.flow_gap(bracket) == ":":
            after = self.pos + 1
            if key.form in ("single", "double") or self.text[after] in " \t\r\n,]}":
                return after
        return None

    def flow_gap(self, bracket: _Bracket) -> str:
        """Skips white space, line breaks and comments, and returns the character after them."""
        gap = _FLOW_GAP.match(self.text, self.pos)
        assert gap
        self.pos = gap.end()
        if not self.char:
            self.fail("yaml-syntax", f"`{self.text[bracket.start]}` is never closed", bracket.start)
        # All readers ignore the indentation of quotes and punctuation.
        if gap["indent"] is not None and len(gap["indent"]) < bracket.least and self.char not in "[]{},:'\"":
            self.fail("yaml-syntax", "this line is indented too little", hint="indent it further than its key")
        return self.char
