# cython: language_level=3, cdivision=True
"""The compiled version of `slicebase.graph.on_demand`: slices of a session that is not in memory.

It asks the source the same questions in the same order. What it selected is laid out as the arrays of a small session,
sorted by id, and written as from any other one. native_on_demand.pxd has the types.
"""

import cython

if not cython.compiled:
    raise ImportError("the expansion on demand is not compiled")

from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import int64_t, uint32_t
from cython.cimports.libc.stdlib import free, qsort, realloc
from cython.cimports.libc.string import memcmp, memcpy
from cython.cimports.slicebase.graph.native import PreparedPolicy
from cython.cimports.slicebase.graph.native_expand import NOTHING, PHASE_COUNT, Entry, more_room, power
from cython.cimports.slicebase.graph.native_export import ID_SIZE, KIND_COUNT, TYPE_COUNT, Pair, append, by_key

from slicebase.graph.compact import EDGE_BITS, TURN_KINDS
from slicebase.graph.export import ContextSlice, head_json
from slicebase.graph.on_demand import Siblings, priority_at

_DIGITS = cython.declare(cython.p_const_char, b"0123456789abcdef")


def by_name(one, other):
    return memcmp(cython.cast(cython.pointer(Named), one).id, cython.cast(cython.pointer(Named), other).id, UUID_SIZE)


def put_uuid(id, text):
    """Writes the text of a UUID, as `ids.uuid_of` returns it."""
    number: cython.int
    place: cython.int = 0
    for number in range(UUID_SIZE):
        if number in (4, 6, 8, 10):
            text[place] = 45  # a hyphen
            place += 1
        text[place] = _DIGITS[id[number] >> 4]
        text[place + 1] = _DIGITS[id[number] & 15]
        place += 2
    return 0


class SliceReader:
    """One expansion, and its export. An entry of the frontier has the place of its turn among the reached ones."""

    def __init__(self, source, policy, wide):
        self.source, self.policy, self.wide = source, policy, wide
        self.prepared = PreparedPolicy(policy)
        self.rules = self.prepared.rules
        self.siblings = Siblings(source, policy.max_siblings_per_node, wide)
        self.numbers, self.visited, self.expanded = [], set(), set()
        self.ranks, self.members = {}, []
        heads = [head_json(source.session_id, *kind).encode() for kind in TURN_KINDS]
        names = [edge_type.encode() for edge_type in EDGE_BITS]
        if (len(heads), len(names)) != (KIND_COUNT, TYPE_COUNT):
            raise ValueError("there are other kinds of turns or edges")
        self.held = [heads, names]
        number: cython.int
        for number in range(KIND_COUNT):
            self.heads[number].data, self.heads[number].count = heads[number], len(heads[number])
        for number in range(TYPE_COUNT):
            self.types[number].data, self.types[number].count = names[number], len(names[number])

    def __dealloc__(self):
        free(self.reached)

    # The frontier

    def leaves_before(self, one, other):
        """Returns whether an entry leaves the frontier before another one (§5.3, ruling 9)."""
        if one.priority != other.priority:
            return one.priority > other.priority
        if one.distance != other.distance:
            return one.distance < other.distance
        return memcmp(self.reached[one.turn].id, self.reached[other.turn].id, UUID_SIZE) < 0

    def add(self, entry):
        if self.frontier.count == self.frontier.room:
            more_room(cython.address(self.frontier))
        items: cython.pointer(Entry) = self.frontier.items
        hole: cython.size_t = self.frontier.count
        self.frontier.count += 1
        while hole:
            above: cython.size_t = (hole - 1) >> 1
            if not self.leaves_before(entry, items + above):
                break
            items[hole] = items[above]
            hole = above
        items[hole] = entry[0]
        return 0

    def take(self):
        items: cython.pointer(Entry) = self.frontier.items
        best: Entry = items[0]
        self.frontier.count -= 1
        count: cython.size_t = self.frontier.count
        hole: cython.size_t = 0
        below: cython.size_t = 1
        while below < count:
            if below + 1 < count and self.leaves_before(items + below + 1, items + below):
                below += 1
            if not self.leaves_before(items + below, items + count):
                break
            items[hole] = items[below]
            hole = below
            below = 2 * hole + 1
        items[hole] = items[count]
        return best

    def reach(self, turn, number, priority, distance, reached_from, family):
        """Adds a turn that was not visited to the frontier."""
        if len(turn) != UUID_SIZE:
            raise self.source.damage("an id that is no UUID")
        if self.reached_count == self.reached_room:
            room: cython.size_t = 2 * self.reached_room + 256
            made: cython.p_void = realloc(self.reached, room * cython.sizeof(Named))
            if made == cython.NULL:
                raise MemoryError
            self.reached, self.reached_room = cython.cast(cython.pointer(Named), made), room
        memcpy(self.reached[self.reached_count].id, PyBytes_AS_STRING(turn), UUID_SIZE)
        entry: Entry
        entry.priority, entry.distance, entry.rank = priority, distance, 0
        entry.turn = cython.cast(uint32_t, self.reached_count)
        entry.source, entry.family = reached_from, family
        self.reached_count += 1
        self.numbers.append(number)
        self.visited.add(number)
        return self.add(cython.address(entry))

    def belongs(self, number, before):
        """Returns whether a turn belongs to a wide family that was opened before this rank."""
        if before == 0:
            return False
        rank: cython.size_t
        for parent in self.source.parents_of(number):
            rank = self.ranks.get(parent, before)
            if rank < before:
                return True
        return False

    def push_all(self, turns, distance, reached_from):
        """Pushes those of these turns that were not visited (ruling 11). Each cast rounds to binary32 (ruling 8)."""
        decay: cython.double = power(self.rules.decay, distance)
        opened: cython.size_t = len(self.members)
        phase: cython.long
        salience: cython.double
        for turn, number, phase, salience in turns:
            if number in self.visited or self.belongs(number, opened):
                continue
            if not 0 <= phase < PHASE_COUNT:
                raise self.source.damage("an unknown phase")
            weight: cython.double = self.rules.weights[phase]
            weighted: cython.double = cython.cast(cython.float, salience * self.rules.salience_weight)
            base: cython.double = cython.cast(cython.float, weight + weighted)
            self.reach(turn, number, cython.cast(cython.float, base * decay), distance, reached_from, NOTHING)
        return 0

    def push_member(self, family, distance, reached_from):
        """Pushes the next turn of a family that was not visited."""
        for negated, turn, number in self.members[family]:
            if number not in self.visited and not self.belongs(number, family):
                return self.reach(turn, number, -negated, distance, reached_from, family)
        return 0

    # The steps of §5.2

    def walk(self, anchor):
        self.push_all([self.source.near(anchor)], 0, NOTHING)
        while self.frontier.count:
            if self.selected.count == self.selected.room:
                more_room(cython.address(self.selected))
            here: Entry = self.take()
            self.selected.items[self.selected.count] = here
            self.selected.count += 1
            if self.selected.count == self.rules.max_nodes:
                break
            if here.family != NOTHING:
                self.push_member(here.family, here.distance, here.source)
            if here.distance < self.rules.max_radius:
                self.ask(here.turn, here.distance)
        return 0

    def ask(self, turn, distance):
        """Pushes the parents, the children and the siblings of a turn."""
        source = self.source
        number = self.numbers[turn]
        self.expanded.add(number)
        above, children = source.around(number, self.wide)
        unvisited = [parent for parent in above if parent not in self.visited]
        if unvisited:
            self.push_all([source.near(parent) for parent in unvisited], distance + 1, turn)
        if len(children) > self.wide:
            family: uint32_t = len(self.members)
            self.members.append(source.ranked_children(number, priority_at(self.policy.scoring, distance + 1)))
            self.ranks[number] = family
            self.push_member(family, distance + 1, turn)
        elif children:
            self.push_all(children, distance + 1, turn)
        # All children of an expanded turn have been visited: where all parents are expanded, no sibling is new.
        if self.rules.siblings and not self.expanded.issuperset(above):
            self.push_all(self.siblings.of(number, tuple(above)), distance, turn)
        return 0

    # The export (§6)

    def sorted_numbers(self):
        """Sorts the selected turns by id (§6.2), and returns their numbers."""
        count: cython.size_t = self.selected.count
        place: cython.size_t
        found: cython.p_void = self.room(count * cython.sizeof(Named))
        named: cython.pointer(Named) = cython.cast(cython.pointer(Named), found)
        for place in range(count):
            named[place] = self.reached[self.selected.items[place].turn]
            named[place].turn = self.selected.items[place].turn
        qsort(named, count, cython.sizeof(Named), by_name)
        self.turns.count = 0
        ids: cython.p_char = self.room(count * ID_SIZE)
        numbers: list = []
        for place in range(count):
            put_uuid(named[place].id, ids + ID_SIZE * place)
            append(cython.address(self.turns), place, cython.cast(uint32_t, place))
            numbers.append(self.numbers[named[place].turn])
        self.at.ids = ids
        return numbers

    def room(self, size):
        """Returns memory that is kept as long as the reader."""
        made: bytearray = bytearray(size)
        self.held.append(made)
        return PyByteArray_AS_STRING(made)

    def lay_out(self, numbers):
        """Writes the arrays of these turns, and finds the edges between them (§7.4). Returns the annotators."""
        places: dict = {number: place for place, number in enumerate(numbers)}
        count: cython.size_t = len(numbers)
        kinds: cython.p_uchar = cython.cast(cython.p_uchar, self.room(count))
        saliences: cython.p_float = cython.cast(cython.p_float, cython.cast(cython.p_void, self.room(4 * count)))
        records: cython.p_char = self.room(RECORD_SIZE * count)
        below: cython.size_t
        above: cython.size_t
        kind: cython.long
        time: int64_t
        annotators: set = set()
        self.edges.count = 0
        for below in range(count):
            number = numbers[below]
            kind, salience, trajectory, time, annotator, edges = self.source.fields_of(number)
            annotators.add(annotator)
            if not 0 <= kind < KIND_COUNT or len(trajectory) != TRAJECTORY_SIZE:
                raise self.source.damage("unknown fields")
            kinds[below], saliences[below] = cython.cast(cython.uchar, kind), salience
            memcpy(records + RECORD_SIZE * below, PyBytes_AS_STRING(trajectory), TRAJECTORY_SIZE)
            memcpy(records + RECORD_SIZE * below + TRAJECTORY_SIZE, cython.address(time), 8)
            for parent, bits in edges:
                if parent in places:
                    above = places[parent]
                    append(cython.address(self.edges), above << 32 | below, bits)
        if self.edges.count > 1:
            qsort(self.edges.items, self.edges.count, cython.sizeof(Pair), by_key)
        self.at.kind, self.at.salience, self.at.size = kinds, saliences, RECORD_SIZE
        self.at.rest = cython.cast(cython.p_uchar, cython.cast(cython.p_void, records))
        self.at.depth_size = self.at.order_size = self.at.time_size = 8
        return annotators

    def context_slice(self, anchor_id):
        anchor = self.source.number_of(anchor_id)
        self.walk(anchor)
        numbers = self.sorted_numbers()
        annotators = self.lay_out(numbers)
        self.put_slice(numbers.index(anchor), self.prepared.tail, self.prepared.end)
        export = PyBytes_FromStringAndSize(self.export.data, self.export.count)
        name = PyBytes_FromStringAndSize(self.name, 16).decode()
        return ContextSlice(anchor_id, self.prepared.params_hash, name, export, tuple(sorted(annotators)))


def context_slice(source, anchor_id, policy, wide):
    """Returns the same as `on_demand.context_slice`."""
    return SliceReader(source, policy, wide).context_slice(anchor_id)
