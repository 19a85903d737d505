# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The compiled version of `slicebase.graph.best_first`: slices of a compact session. native.pxd has the types.

This module, `native_export` and `native_expand` are Python that Cython compiles. Where they are not compiled, importing
them raises an ImportError, and the plain version runs: both give the same bytes. A kernel has the addresses of a
session's arrays, which it only reads, and every call has a writer of its own: threads can use one kernel at once.
"""

from array import array

import cython

if not cython.compiled:
    raise ImportError("the kernel is not compiled")

from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.cpython.unicode import PyUnicode_AsUTF8
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcmp
from cython.cimports.slicebase.graph.native_expand import KEPT_SLOTS, NOTHING, PHASE_COUNT, Entry
from cython.cimports.slicebase.graph.native_export import (
    ID_SIZE,
    KIND_COUNT,
    TYPE_COUNT,
    WRITTEN_SIZE,
    Job,
    SliceWriter,
)
from cython.cimports.slicebase.graph.native_survey import Figures, Surveyor, survey

from slicebase.graph.compact import EDGE_BITS
from slicebase.graph.export import SCHEMA_VERSION, ContextSlice
from slicebase.graph.policy import POLICY_ID
from slicebase.graph.select import no_turn
from slicebase.graph.turn import PHASES

COMPILED_FROM = SLICEBASE_NATIVE_SOURCE.decode()
_LITTLE = array("H", [1]).tobytes() == b"\1\0"
if not _LITTLE:
    raise ImportError("the kernel reads numbers whose first byte is the lowest")
_SIZES = {"B": 1, "H": 2, "I": 4, "q": 8}  # of the integers of a record


class PreparedPolicy:
    """The numbers and the texts that slices by a policy need."""

    def __init__(self, policy):
        weights, salience_weight, decays = policy.scoring
        phase: cython.int
        for phase in range(PHASE_COUNT):
            self.rules.weights[phase] = weights[phase]
        self.rules.salience_weight, self.rules.decay = salience_weight, decays.decay
        self.rules.max_nodes, self.rules.max_radius = policy.max_nodes, policy.max_radius
        self.rules.siblings = policy.max_siblings_per_node if policy.include_siblings else 0
        self.policy, self.params_hash = policy, policy.params_hash
        self.held_tail = f'],"{POLICY_ID}","{self.params_hash}","{SCHEMA_VERSION}"]'.encode()
        self.held_end = (
            f'],"policy_id":"{POLICY_ID}","policy_params_hash":"{self.params_hash}",'
            f'"schema_version":"{SCHEMA_VERSION}","slice_id":"'
        ).encode()
        self.tail.data, self.tail.count = self.held_tail, len(self.held_tail)
        self.end.data, self.end.count = self.held_end, len(self.held_end)


class Kernel:
    """The arrays of a compact session, as the compiled code reads them. A family of more than `wide` turns is wide."""

    def __init__(self, session, wide):
        rank, kind, salience, _, rest, packing = session.columns
        parent_start, parent, types, child_start, child = session.neighbours
        heads = [head.encode() for head in session.heads]
        names = [edge_type.encode() for edge_type in EDGE_BITS]
        if (len(heads), len(names), len(PHASES)) != (KIND_COUNT, TYPE_COUNT, PHASE_COUNT) or not session.ids.isascii():
            raise ValueError("these are no arrays of a session")
        self.idle, self.held = [], [session.ids, kind, rest, types, heads, names]
        self.at.count, self.at.ids = len(kind), PyUnicode_AsUTF8(session.ids)
        self.at.kind, self.at.rest, self.at.types = kind, rest, types
        self.at.by_id = cython.cast(cython.p_uint, self.address(session.by_id))
        self.at.rank = cython.cast(cython.p_uint, self.address(rank))
        self.at.salience = cython.cast(cython.p_float, self.address(salience))
        self.at.parent_start = cython.cast(cython.p_uint, self.address(parent_start))
        self.at.parent = cython.cast(cython.p_uint, self.address(parent))
        self.at.child_start = cython.cast(cython.p_uint, self.address(child_start))
        self.at.child = cython.cast(cython.p_uint, self.address(child))
        _, depth, order, _, _, _, time = packing.format
        self.at.depth_size, self.at.order_size, self.at.time_size = _SIZES[depth], _SIZES[order], _SIZES[time]
        self.at.size, self.at.wide = packing.size, wide
        number: cython.int
        for number in range(KIND_COUNT):
            self.heads[number].data, self.heads[number].count = heads[number], len(heads[number])
        for number in range(TYPE_COUNT):
            self.types[number].data, self.types[number].count = names[number], len(names[number])
        self.find_wide()

    def __dealloc__(self):
        free(self.at.wide_turns)
        free(self.at.streams)
        free(self.at.members)

    @property
    def nbytes(self):
        """The memory that the kernel takes in addition to the session's arrays."""
        members = self.at.streams[(PHASE_COUNT + 1) * self.at.wide_count - 1] if self.at.wide_count else 0
        return 4 * ((PHASE_COUNT + 2) * self.at.wide_count + members)

    def address(self, values):
        """Returns the address of an array, which nothing can resize from then on."""
        self.held.append(memoryview(values))
        return values.buffer_info()[0]

    def find_wide(self):
        """Sorts the children of wide families by phase. They are sorted by salience already."""
        turn: uint32_t
        size: uint32_t
        count: cython.size_t = 0
        members: cython.size_t = 0
        for turn in range(self.at.count):
            size = self.at.child_start[turn + 1] - self.at.child_start[turn]
            if size > self.at.wide:
                count += 1
                members += size
        if count == 0:
            return 0
        self.at.wide_turns = cython.cast(cython.p_uint, malloc(4 * count))
        self.at.streams = cython.cast(cython.p_uint, malloc(4 * (PHASE_COUNT + 1) * count))
        self.at.members = cython.cast(cython.p_uint, malloc(4 * members))
        if not (self.at.wide_turns and self.at.streams and self.at.members):
            raise MemoryError
        place: uint32_t = 0
        phase: cython.int
        link: uint32_t
        for turn in range(self.at.count):
            if self.at.child_start[turn + 1] - self.at.child_start[turn] <= self.at.wide:
                continue
            self.at.wide_turns[self.at.wide_count] = turn
            for phase in range(PHASE_COUNT):
                self.at.streams[(PHASE_COUNT + 1) * self.at.wide_count + phase] = place
                for link in range(self.at.child_start[turn], self.at.child_start[turn + 1]):
                    if self.at.kind[self.at.child[link]] % PHASE_COUNT == phase:
                        self.at.members[place] = self.at.child[link]
                        place += 1
            self.at.streams[(PHASE_COUNT + 1) * self.at.wide_count + PHASE_COUNT] = place
            self.at.wide_count += 1
        return 0

    # What a call needs

    def writer(self):
        """Returns a writer that no other thread uses."""
        made: SliceWriter = self.idle.pop() if self.idle else SliceWriter()
        made.at = self.at
        number: cython.int
        for number in range(KIND_COUNT):
            made.heads[number] = self.heads[number]
        for number in range(TYPE_COUNT):
            made.types[number] = self.types[number]
        return made

    def leave(self, writer):
        """Keeps a writer for the next call, unless it has grown."""
        number: cython.uint
        kept: cython.size_t = writer.slot_room
        for number in range(writer.family_room):
            kept += writer.families[number].heap.room
        if kept <= KEPT_SLOTS and writer.written.room < 2 * WRITTEN_SIZE:
            self.idle.append(writer)
        return 0

    def prepared(self, policy):
        last: PreparedPolicy = self.last
        if last is None or last.policy is not policy:
            last = self.last = PreparedPolicy(policy)
        return last

    def number(self, turn_id):
        """Returns the number of a turn, or `NOTHING` for an id that is not in the session."""
        if len(turn_id) != ID_SIZE or not turn_id.isascii():
            return NOTHING
        text: cython.pointer(cython.const[cython.char]) = PyUnicode_AsUTF8(turn_id)
        low: uint32_t = 0
        high: uint32_t = self.at.count
        while low < high:
            middle: uint32_t = low + ((high - low) >> 1)
            turn: uint32_t = self.at.by_id[middle]
            order: cython.int = memcmp(self.at.ids + ID_SIZE * cython.cast(cython.size_t, turn), text, ID_SIZE)
            if order == 0:
                return turn
            if order < 0:
                low = middle + 1
            else:
                high = middle
        return NOTHING

    def has(self, turn_id):
        """Returns whether a turn is in the session."""
        return self.number(turn_id) != NOTHING

    # Slices

    def context_slice(self, session, anchor_id: str, policy):
        """Returns the same as `best_first.context_slice`."""
        anchor: uint32_t = self.number(anchor_id)
        if anchor == NOTHING:
            raise no_turn(anchor_id)
        chosen: PreparedPolicy = self.prepared(policy)
        writer: SliceWriter = self.writer()
        writer.rules = chosen.rules
        if chosen.rules.max_nodes > LOCKED_TURNS and self.at.count > LOCKED_TURNS:
            with cython.nogil:
                writer.write(anchor, chosen.tail, chosen.end)
        else:
            writer.write(anchor, chosen.tail, chosen.end)
        export = PyBytes_FromStringAndSize(writer.export.data, writer.export.count)
        name = PyBytes_FromStringAndSize(writer.name, 16).decode()
        annotators = session.annotators
        if len(annotators) > 1:
            turns = [pair.value for pair in writer.turns.items[: writer.turns.count]]
            annotators = session.annotators_of(turns)
        self.leave(writer)
        return ContextSlice(anchor_id, chosen.params_hash, name, export, tuple(annotators))

    def exports(self, requests):
        """Returns the exports of slices, each by an anchor and a policy; None for an anchor that is not in the session.

        It stops when the exports are large, and returns at least one. Other threads run meanwhile.
        """
        count: cython.size_t = len(requests)
        policies: dict = {}
        place: cython.size_t
        writer: SliceWriter = self.writer()
        jobs: cython.pointer(Job) = cython.cast(cython.pointer(Job), malloc((count or 1) * cython.sizeof(Job)))
        if jobs == cython.NULL:
            raise MemoryError
        try:
            for place in range(count):
                anchor_id, policy = requests[place]
                if id(policy) not in policies:
                    policies[id(policy)] = PreparedPolicy(policy)
                chosen: PreparedPolicy = policies[id(policy)]
                jobs[place].anchor = self.number(anchor_id)
                jobs[place].rules = cython.address(chosen.rules)
                jobs[place].tail, jobs[place].end = chosen.tail, chosen.end
            with cython.nogil:
                count = writer.write_all(jobs, count)
            found = []
            first: cython.size_t = 0
            for place in range(count):
                if jobs[place].anchor == NOTHING:
                    found.append(None)
                else:
                    found.append(PyBytes_FromStringAndSize(writer.written.data + first, jobs[place].stop - first))
                    first = jobs[place].stop
        finally:
            free(jobs)
        self.leave(writer)
        return found

    def expand(self, anchor: uint32_t, policy):
        """Returns the same as `best_first.expand`, without families."""
        self.refuse_unknown(anchor)
        writer: SliceWriter = self.writer()
        writer.rules = self.prepared(policy).rules
        with cython.nogil:
            writer.run(anchor)
        place: cython.size_t
        found = []
        for place in range(writer.selected.count):
            entry: Entry = writer.selected.items[place]
            source = -1 if entry.source == NOTHING else entry.source
            found.append((-entry.priority, entry.distance, entry.rank, entry.turn, source, None))
        self.leave(writer)
        return found

    def survey(self, anchors, uppers, policy):
        """Returns the figures of `atlas.Survey` for anchors, as bytes of C numbers. Other threads run meanwhile.

        `uppers` has the nearest anchor above each, or -1.
        """
        asked = array("I", anchors)
        nearest = array("I", [upper & 0xFFFFFFFF for upper in uppers])  # of -1, that is NOTHING
        count: cython.size_t = len(asked)
        others: cython.size_t = len(nearest)
        if count != others:
            raise ValueError("each anchor has one above it, or none")
        place: cython.size_t
        for place in range(count):
            self.refuse_unknown(asked[place])
            if uppers[place] >= 0:
                self.refuse_unknown(nearest[place])
        here: Surveyor = Surveyor()
        above: Surveyor = Surveyor()
        here.at = above.at = self.at
        here.rules = above.rules = self.prepared(policy).rules
        made = [bytearray(size * n) for size, n in ((4, self.at.count), (8, self.at.count), (8, self.at.count))]
        made += [bytearray(4 * count), bytearray(4 * count)]
        figures: Figures
        figures.slices = cython.cast(cython.p_uint, PyByteArray_AS_STRING(made[0]))
        figures.influence = cython.cast(cython.pointer(int64_t), PyByteArray_AS_STRING(made[1]))
        figures.carried = cython.cast(cython.pointer(uint64_t), PyByteArray_AS_STRING(made[2]))
        figures.sizes = cython.cast(cython.p_uint, PyByteArray_AS_STRING(made[3]))
        figures.shared = cython.cast(cython.p_uint, PyByteArray_AS_STRING(made[4]))
        numbers: cython.p_uint = cython.cast(cython.p_uint, cython.cast(cython.size_t, asked.buffer_info()[0]))
        above_them: cython.p_uint = cython.cast(cython.p_uint, cython.cast(cython.size_t, nearest.buffer_info()[0]))
        with cython.nogil:
            survey(here, above, numbers, above_them, count, cython.address(figures))
        return made

    def refuse_unknown(self, turn):
        if turn >= self.at.count:
            raise IndexError(turn)
        return 0
