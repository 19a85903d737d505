# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The compiled text of an export and its slice_id, as in `slicebase.graph.export`. native_export.pxd has the types."""

import cython

if not cython.compiled:
    raise ImportError("the text of the export is not compiled")

from cython.cimports.libc.math import rint
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, qsort, realloc
from cython.cimports.libc.string import memcpy, strlen
from cython.cimports.slicebase.graph.native_expand import NOTHING, Entry, no_memory

from slicebase.graph.binary32 import shortest

# Text


def reserve(buffer, count):
    """Makes room for more bytes."""
    if buffer.room - buffer.count < count:
        room: cython.size_t = 2 * buffer.room + count
        data: cython.p_void = realloc(buffer.data, room)
        if data == cython.NULL:
            no_memory()
        buffer.data, buffer.room = cython.cast(cython.p_char, data), room
    return 0


def put(buffer, text, count):
    """Adds bytes, for which there is room."""
    memcpy(buffer.data + buffer.count, text, count)
    buffer.count += count
    return 0


def put_literal(buffer, text):
    count: cython.size_t = strlen(text)
    reserve(buffer, count)
    return put(buffer, text, count)


def put_id(buffer, id):
    return put(buffer, id, ID_SIZE)


def put_digits(buffer, value, decimals):
    """Adds a number of which so many digits are decimals, at least one digit before the point."""
    digits: cython.char[NUMBER_SIZE]
    place: cython.int = NUMBER_SIZE
    while value or decimals >= 0:
        if decimals == 0 and place < NUMBER_SIZE:
            place -= 1
            digits[place] = 46  # a point
        place -= 1
        digits[place] = cython.cast(cython.char, 48 + value % 10)
        value //= 10
        decimals -= 1
    return put(buffer, digits + place, NUMBER_SIZE - place)


def put_integer(buffer, value):
    if value < 0:
        put(buffer, b"-", 1)
        return put_digits(buffer, -cython.cast(uint64_t, value), 0)
    return put_digits(buffer, cython.cast(uint64_t, value), 0)


def integer_at(data, size):
    """Returns the integer of a packed field: eight bytes have a sign, and fewer have none."""
    value: uint64_t = 0
    memcpy(cython.address(value), data, size)
    return cython.cast(int64_t, value)


def float_at(data):
    value: cython.float
    memcpy(cython.address(value), data, 4)
    return value


def append(pairs, key, value):
    if pairs.count == pairs.room:
        room: cython.size_t = 2 * pairs.room + 256
        items: cython.p_void = realloc(pairs.items, room * cython.sizeof(Pair))
        if items == cython.NULL:
            no_memory()
        pairs.items, pairs.room = cython.cast(cython.pointer(Pair), items), room
    pairs.items[pairs.count].key = key
    pairs.items[pairs.count].value = value
    pairs.count += 1
    return 0


def by_key(one, other):
    left: uint64_t = cython.cast(cython.pointer(Pair), one).key
    right: uint64_t = cython.cast(cython.pointer(Pair), other).key
    return (left > right) - (left < right)


# XXH64 with seed 0

_FIRST = cython.declare(uint64_t, 0x9E3779B185EBCA87)
_SECOND = cython.declare(uint64_t, 0xC2B2AE3D27D4EB4F)
_THIRD = cython.declare(uint64_t, 0x165667B19E3779F9)
_FOURTH = cython.declare(uint64_t, 0x85EBCA77C2B2AE63)
_FIFTH = cython.declare(uint64_t, 0x27D4EB2F165667C5)


def turned(value, bits):
    return (value << bits) | (value >> (64 - bits))


def word_at(data):
    word: uint64_t
    memcpy(cython.address(word), data, 8)
    return word


def mixed(lane, word):
    return turned(lane + word * _SECOND, 31) * _FIRST


def xxh64(data, count):
    end: cython.pointer(cython.const[cython.char]) = data + count
    lane: uint64_t[4]
    found: uint64_t = _FIFTH
    number: cython.int
    half: uint32_t
    if count >= 32:
        lane[0], lane[1], lane[2], lane[3] = _FIRST + _SECOND, _SECOND, 0, 0 - _FIRST
        while end - data >= 32:
            for number in range(4):
                lane[number] = mixed(lane[number], word_at(data + 8 * number))
            data += 32
        found = turned(lane[0], 1) + turned(lane[1], 7) + turned(lane[2], 12) + turned(lane[3], 18)
        for number in range(4):
            found = (found ^ mixed(0, lane[number])) * _FIRST + _FOURTH
    found += count
    while end - data >= 8:
        found = turned(found ^ mixed(0, word_at(data)), 27) * _FIRST + _FOURTH
        data += 8
    if end - data >= 4:
        memcpy(cython.address(half), data, 4)
        found = turned(found ^ (half * _FIRST), 23) * _SECOND + _THIRD
        data += 4
    while data < end:
        found = turned(found ^ (cython.cast(cython.uchar, data[0]) * _FIFTH), 11) * _FIRST
        data += 1
    found = (found ^ (found >> 33)) * _SECOND
    found = (found ^ (found >> 29)) * _THIRD
    return found ^ (found >> 32)


_POWERS = cython.declare(cython.double[12], [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11])


class SliceWriter:
    """An expander that writes what it selected as an export (§6)."""

    def __dealloc__(self):
        free(self.export.data)
        free(self.hashed.data)
        free(self.written.data)
        free(self.turns.items)
        free(self.edges.items)

    def write(self, anchor, tail, end):
        """Selects and writes the slice around an anchor. `name` is its slice_id then."""
        self.run(anchor)
        self.sort_turns()
        self.sort_edges()
        return self.put_slice(anchor, tail, end)

    def put_slice(self, anchor, tail, end):
        """Writes the turns and edges that are sorted."""
        export: cython.pointer(Buffer) = cython.address(self.export)
        hashed: cython.pointer(Buffer) = cython.address(self.hashed)
        export.count = hashed.count = 0
        ids: cython.pointer(cython.const[cython.char]) = self.at.ids
        reserve(hashed, 256 + self.turns.count * (ID_SIZE + 3) + tail.count)
        put_literal(export, b'{"anchor_turn_id":"')
        reserve(export, ID_SIZE)
        put_id(export, ids + ID_SIZE * cython.cast(cython.size_t, anchor))
        put_literal(export, b'","turns":[')
        put(hashed, b'["', 2)
        put_id(hashed, ids + ID_SIZE * cython.cast(cython.size_t, anchor))
        put(hashed, b'",[', 3)
        number: cython.size_t
        for number in range(self.turns.count):
            turn: uint32_t = self.turns.items[number].value
            put(hashed, b',"' if number else b'"', 2 if number else 1)
            put_id(hashed, ids + ID_SIZE * cython.cast(cython.size_t, turn))
            put(hashed, b'"', 1)
            if number:
                put_literal(export, b",")
            self.put_turn(turn)
        put(hashed, b"],[", 3)
        put_literal(export, b'],"edges":[')
        first: cython.size_t = export.count
        self.put_edges()
        reserve(hashed, export.count - first + tail.count)
        put(hashed, export.data + first, export.count - first)
        put(hashed, tail.data, tail.count)
        found: uint64_t = xxh64(hashed.data, hashed.count)
        place: cython.int
        for place in range(16):
            digit: cython.int = (found >> (60 - 4 * place)) & 15
            self.name[place] = cython.cast(cython.char, 48 + digit if digit < 10 else 87 + digit)
        reserve(export, end.count + 18)
        put(export, end.data, end.count)
        put(export, self.name, 16)
        put(export, b'"}', 2)
        return 0

    def write_all(self, jobs, count):
        """Writes slices one after the other, and returns how many: it stops when they are large."""
        place: cython.size_t
        self.written.count = 0
        for place in range(count):
            if self.written.count >= WRITTEN_SIZE:
                return place
            if jobs[place].anchor != NOTHING:
                self.rules = jobs[place].rules[0]
                self.write(jobs[place].anchor, jobs[place].tail, jobs[place].end)
                reserve(cython.address(self.written), self.export.count)
                put(cython.address(self.written), self.export.data, self.export.count)
                jobs[place].stop = self.written.count
        return count

    def sort_turns(self):
        """Sorts the selected turns by id, and notes their places (§6.2)."""
        self.turns.count = 0
        number: cython.size_t
        for number in range(self.selected.count):
            entry: cython.pointer(Entry) = self.selected.items + number
            append(cython.address(self.turns), entry.rank, entry.turn)
        qsort(self.turns.items, self.turns.count, cython.sizeof(Pair), by_key)
        for number in range(self.turns.count):
            self.find(self.turns.items[number].value).place = cython.cast(uint32_t, number + 1)
        return 0

    def sort_edges(self):
        """Finds the edges between the selected turns, by parent and child (§7.4)."""
        self.edges.count = 0
        below: cython.size_t
        link: uint32_t
        for below in range(self.turns.count):
            turn: uint32_t = self.turns.items[below].value
            for link in range(self.at.parent_start[turn], self.at.parent_start[turn + 1]):
                above: uint32_t = self.find(self.at.parent[link]).place
                if above:
                    key: uint64_t = cython.cast(uint64_t, above - 1) << 32 | below
                    append(cython.address(self.edges), key, self.at.types[link])
        if self.edges.count > 1:
            qsort(self.edges.items, self.edges.count, cython.sizeof(Pair), by_key)
        return 0

    def put_edges(self):
        """Adds the edges to the export, sorted by parent, child and type."""
        export: cython.pointer(Buffer) = cython.address(self.export)
        first: cython.size_t = export.count
        number: cython.size_t
        bit: cython.int
        for number in range(self.edges.count):
            pair: cython.pointer(Pair) = self.edges.items + number
            above: cython.size_t = self.turns.items[pair.key >> 32].value
            below: cython.size_t = self.turns.items[cython.cast(uint32_t, pair.key)].value
            for bit in range(TYPE_COUNT):
                if pair.value >> bit & 1:
                    reserve(export, 256)
                    if export.count > first:
                        put(export, b",", 1)
                    put(export, b'{"parent":"', 11)
                    put_id(export, self.at.ids + ID_SIZE * above)
                    put(export, b'","child":"', 11)
                    put_id(export, self.at.ids + ID_SIZE * below)
                    put(export, b'","edge_type":"', 15)
                    put(export, self.types[bit].data, self.types[bit].count)
                    put(export, b'"}', 2)
        return 0

    def put_turn(self, turn):
        """Adds the object of a turn to the export, as `export.turn_json` writes it."""
        export: cython.pointer(Buffer) = cython.address(self.export)
        head: Text = self.heads[self.at.kind[turn]]
        rest: cython.pointer(cython.const[cython.uchar]) = self.at.rest + self.at.size * cython.cast(
            cython.size_t, turn
        )
        order: uint32_t = self.at.depth_size
        fractions: uint32_t = order + self.at.order_size
        reserve(export, TURN_SIZE + head.count)
        put(export, b'{"id":"', 7)
        put_id(export, self.at.ids + ID_SIZE * cython.cast(cython.size_t, turn))
        put(export, head.data, head.count)
        self.put_decimal(self.at.salience[turn])
        put_literal(export, b',"trajectory_depth":')
        put_integer(export, integer_at(rest, order))
        put_literal(export, b',"trajectory_sibling_order":')
        put_integer(export, integer_at(rest + order, self.at.order_size))
        put_literal(export, b',"trajectory_homogeneity":')
        self.put_decimal(float_at(rest + fractions))
        put_literal(export, b',"trajectory_temporal":')
        self.put_decimal(float_at(rest + fractions + 4))
        put_literal(export, b',"trajectory_complexity":')
        self.put_decimal(float_at(rest + fractions + 8))
        put_literal(export, b',"created_at":')
        put_integer(export, integer_at(rest + fractions + 12, self.at.time_size))
        return put_literal(export, b"}")

    def put_decimal(self, value):
        """Adds the shortest decimal of a binary32 number, as `binary32.shortest` returns it.

        Between the bounds, the number times a power of ten is exact in binary64, and seven to nine digits are enough.
        """
        export: cython.pointer(Buffer) = cython.address(self.export)
        reserve(export, 2 * NUMBER_SIZE + TURN_SIZE)
        if value == 0:
            return put(export, b"0.0", 3)
        exact: cython.double = value
        if value < 0:
            put(export, b"-", 1)
            exact = -exact
        if not 0.001 <= exact < 8388608.0:
            return self.put_searched(cython.cast(cython.float, exact))
        above: cython.int = 0  # digits before the point; less than zero, zeros after it
        while above < 7 and exact >= _POWERS[above]:
            above += 1
        if above == 0:
            above = 0 if exact >= 0.1 else -1 if exact >= 0.01 else -2
        digits: cython.int
        scaled: cython.double = 0
        decimals: cython.int = 0
        for digits in range(7, 10):
            decimals = digits - above
            scaled = rint(exact * _POWERS[decimals])
            if cython.cast(cython.float, scaled / _POWERS[decimals]) == cython.cast(cython.float, exact):
                break
        number: uint64_t = cython.cast(uint64_t, scaled)
        while decimals > 1 and number % 10 == 0:
            number //= 10
            decimals -= 1
        while decimals < 1:
            number *= 10
            decimals += 1
        return put_digits(export, number, decimals)

    def put_searched(self, value):
        """Adds a very small or large number: by the plain version, which keeps what it finds."""
        with cython.gil:
            text: bytes = shortest(value).encode()
            reserve(cython.address(self.export), len(text) + TURN_SIZE)
            put(cython.address(self.export), text, len(text))
        return 0
