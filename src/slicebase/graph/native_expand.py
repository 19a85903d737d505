# cython: language_level=3, cdivision=True
"""The compiled expansion of §5, step by step as in `slicebase.graph.best_first`. native_expand.pxd has the types.

An expander is the scratch space of one expansion after the other. What it needs grows with the turns that it reaches,
never with the session.

Wide families are the one difference to the plain version. Their children are kept by phase, then by salience. At one
distance, a turn of higher salience never has a lower priority than another one of its phase. So a family is one sorted
stream for each phase, and only the heads of the streams are compared. A run of turns of equal salience is sorted by id;
where several runs have equal priority, all their heads are compared.
"""

import cython

if not cython.compiled:
    raise ImportError("the expansion is not compiled")

from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc, realloc
from cython.cimports.libc.string import memset


def no_memory():
    with cython.gil:
        raise MemoryError


def look_at_signals():
    with cython.gil:
        return PyErr_CheckSignals()


def before(one, other):
    """Returns whether an entry leaves the frontier before another one (§5.3, ruling 9)."""
    if one.priority != other.priority:
        return one.priority > other.priority
    if one.distance != other.distance:
        return one.distance < other.distance
    return one.rank < other.rank


def more_room(heap):
    room: cython.size_t = 2 * heap.room + 64
    items: cython.p_void = realloc(heap.items, room * cython.sizeof(Entry))
    if items == cython.NULL:
        no_memory()
    heap.items = cython.cast(cython.pointer(Entry), items)
    heap.room = room
    return 0


def push(heap, entry):
    if heap.count == heap.room:
        more_room(heap)
    items: cython.pointer(Entry) = heap.items
    hole: cython.size_t = heap.count
    heap.count += 1
    while hole:
        above: cython.size_t = (hole - 1) >> 1
        if not before(entry, items + above):
            break
        items[hole] = items[above]
        hole = above
    items[hole] = entry[0]
    return 0


def pop(heap):
    items: cython.pointer(Entry) = heap.items
    best: Entry = items[0]
    heap.count -= 1
    last: cython.pointer(Entry) = items + heap.count
    hole: cython.size_t = 0
    below: cython.size_t = 1
    while below < heap.count:
        if below + 1 < heap.count and before(items + below + 1, items + below):
            below += 1
        if not before(items + below, last):
            break
        items[hole] = items[below]
        hole = below
        below = 2 * hole + 1
    items[hole] = last[0]
    return best


def power(base, exponent):
    """Returns the same as `binary32.power`: each cast rounds a product."""
    result: cython.double = 1.0
    while True:
        if exponent & 1:
            result = cython.cast(cython.float, result * base)
        exponent >>= 1
        if exponent == 0:
            return result
        base = cython.cast(cython.float, base * base)


class Expander:
    """The scratch space of one expansion after the other."""

    def __cinit__(self):
        self.slots = cython.cast(cython.pointer(Slot), malloc(FEW_SLOTS * cython.sizeof(Slot)))
        if self.slots == cython.NULL:
            raise MemoryError
        self.slot_room = FEW_SLOTS

    def __dealloc__(self):
        number: uint32_t
        for number in range(self.family_room):
            free(self.families[number].heap.items)
        free(self.families)
        free(self.frontier.items)
        free(self.beside.items)
        free(self.selected.items)
        free(self.slots)

    def start(self):
        """Forgets the last expansion."""
        self.frontier.count = self.selected.count = self.slot_count = 0
        self.family_count = 0
        memset(self.slots, 0, self.slot_room * cython.sizeof(Slot))
        return 0

    # The turns that the expansion has seen

    def find(self, turn):
        """Returns the slot of a turn, or the empty one where it belongs."""
        mask: cython.size_t = self.slot_room - 1
        place: cython.size_t = (cython.cast(uint64_t, turn) * cython.cast(uint64_t, SPREAD) >> 20) & mask
        while self.slots[place].key != 0 and self.slots[place].key != turn + 1:
            place = (place + 1) & mask
        return self.slots + place

    def slot_of(self, turn):
        """Returns the slot of a turn, which is its own from then on."""
        slot: cython.pointer(Slot) = self.find(turn)
        if slot.key == 0:
            if 2 * self.slot_count >= self.slot_room:
                self.more_slots()
                slot = self.find(turn)
            self.slot_count += 1
            slot.key = turn + 1
        return slot

    def more_slots(self):
        room: cython.size_t = self.slot_room
        slots: cython.pointer(Slot) = self.slots
        made: cython.p_void = calloc(4 * room, cython.sizeof(Slot))
        if made == cython.NULL:
            no_memory()
        self.slots = cython.cast(cython.pointer(Slot), made)
        self.slot_room = 4 * room
        place: cython.size_t
        for place in range(room):
            if slots[place].key != 0:
                self.find(slots[place].key - 1)[0] = slots[place]
        free(slots)
        return 0

    def in_family(self, turn, rank):
        """Returns whether a turn belongs to a wide family that was opened before this rank."""
        link: uint32_t
        for link in range(self.at.parent_start[turn], self.at.parent_start[turn + 1]):
            family: uint32_t = self.find(self.at.parent[link]).family
            if family != 0 and family - 1 < rank:
                return True
        return False

    def priority(self, turn, decay):
        """Returns the priority of §4. Each cast rounds to binary32 (ruling 8)."""
        salience: cython.double = self.at.salience[turn]
        weight: cython.double = self.rules.weights[self.at.kind[turn] % PHASE_COUNT]
        weighted: cython.double = cython.cast(cython.float, salience * self.rules.salience_weight)
        base: cython.double = cython.cast(cython.float, weight + weighted)
        return cython.cast(cython.float, base * decay)

    def discover(self, turn, distance, decay, source):
        """Pushes a turn, unless it was visited (ruling 11)."""
        self.steps += 1
        slot: cython.pointer(Slot) = self.slot_of(turn)
        if slot.marks & VISITED or (self.family_count and self.in_family(turn, self.family_count)):
            return 0
        slot.marks |= VISITED
        entry: Entry
        entry.priority, entry.distance, entry.rank = self.priority(turn, decay), distance, self.at.rank[turn]
        entry.turn, entry.source, entry.family = turn, source, NOTHING
        return push(cython.address(self.frontier), cython.address(entry))

    # The steps of §5.2

    def run(self, anchor):
        """Selects the turns around an anchor."""
        self.start()
        self.discover(anchor, 0, 1.0, NOTHING)
        while self.frontier.count:
            if self.selected.count == self.selected.room:
                more_room(cython.address(self.selected))
            here: cython.pointer(Entry) = self.selected.items + self.selected.count
            here[0] = pop(cython.address(self.frontier))
            self.selected.count += 1
            if self.selected.count == self.rules.max_nodes:
                break
            self.steps += 1
            if self.steps > STEPS:
                self.steps = 0
                look_at_signals()
            if here.family != NOTHING:
                self.push_next(here.family)
            if here.distance < self.rules.max_radius:
                self.expand(here)
        return 0

    def expand(self, here):
        """Pushes the parents, the children and the siblings of a turn."""
        turn: uint32_t = here.turn
        distance: uint32_t = here.distance + 1
        decay: cython.double = power(self.rules.decay, distance)
        self.slot_of(turn).marks |= EXPANDED
        above: uint32_t = self.at.parent_start[turn]
        above_end: uint32_t = self.at.parent_start[turn + 1]
        first: uint32_t = self.at.child_start[turn]
        end: uint32_t = self.at.child_start[turn + 1]
        link: uint32_t
        for link in range(above, above_end):
            self.discover(self.at.parent[link], distance, decay, turn)
        if end - first > self.at.wide:
            self.open_family(turn, distance, decay)
        else:
            for link in range(first, end):
                self.discover(self.at.child[link], distance, decay, turn)
        # All children of an expanded turn have been visited: where all parents are expanded, no sibling is new.
        if self.rules.siblings and self.has_unexpanded(above, above_end):
            decay = power(self.rules.decay, here.distance)
            if above_end - above == 1:
                return self.ask_parent(here, self.at.parent[above], decay)
            return self.ask_parents(here, above, above_end, decay)
        return 0

    def has_unexpanded(self, first, end):
        link: uint32_t
        for link in range(first, end):  # noqa: SIM110  a generator would be an object
            if not self.find(self.at.parent[link]).marks & EXPANDED:
                return True
        return False

    def ask_parent(self, here, above, decay):
        """Pushes the siblings of a turn that has one parent (ruling 10).

        The first turn that asks pushes the best ones. The list of each other turn differs by the turn itself: only the
        first of those that were over the limit can be new.
        """
        first: uint32_t = self.at.child_start[above]
        end: uint32_t = self.at.child_start[above + 1]
        limit: uint32_t = cython.cast(uint32_t, min(self.rules.siblings, cython.cast(uint64_t, end - first)))
        slot: cython.pointer(Slot) = self.slot_of(above)
        other: uint32_t
        if slot.marks & ASKED:
            if limit < end - first:
                other = self.at.child[first + limit]
                mine: cython.float = self.at.salience[here.turn]
                its: cython.float = self.at.salience[other]
                if mine > its or (mine == its and here.rank < self.at.rank[other]):
                    return self.discover(other, here.distance, decay, here.turn)
            return 0
        slot.marks |= ASKED
        link: uint32_t
        for link in range(first, end):
            other = self.at.child[link]
            if other != here.turn:
                if limit == 0:
                    break
                limit -= 1
                self.discover(other, here.distance, decay, here.turn)
        return 0

    def ask_parents(self, here, first, end, decay):
        """Pushes the siblings of a turn that has several parents: their families are merged (ruling 10)."""
        limit: uint64_t = self.rules.siblings
        last: uint32_t = NOTHING
        entry: Entry
        link: uint32_t
        self.beside.count = 0
        for link in range(first, end):
            entry.source = self.at.child_start[self.at.parent[link]]
            entry.family = self.at.child_start[self.at.parent[link] + 1]  # the end of the family
            entry.distance = 0
            entry.turn = self.at.child[entry.source]
            entry.rank = self.at.rank[entry.turn]
            entry.priority = self.at.salience[entry.turn]
            push(cython.address(self.beside), cython.address(entry))
        while self.beside.count and limit:
            entry = pop(cython.address(self.beside))
            if entry.turn not in (last, here.turn):
                limit -= 1
                self.discover(entry.turn, here.distance, decay, here.turn)
            last = entry.turn
            entry.source += 1
            if entry.source < entry.family:
                entry.turn = self.at.child[entry.source]
                entry.rank = self.at.rank[entry.turn]
                entry.priority = self.at.salience[entry.turn]
                push(cython.address(self.beside), cython.address(entry))
        return 0

    # Wide families

    def open_family(self, turn, distance, decay):
        """Adds the children of a turn as a family, and pushes the first of them."""
        if self.family_count == self.family_room:
            room: uint32_t = 2 * self.family_room + 4
            made: cython.p_void = realloc(self.families, room * cython.sizeof(Family))
            if made == cython.NULL:
                no_memory()
            self.families = cython.cast(cython.pointer(Family), made)
            memset(self.families + self.family_room, 0, (room - self.family_room) * cython.sizeof(Family))
            self.family_room = room
        family: cython.pointer(Family) = self.families + self.family_count
        low: uint32_t = 0
        high: uint32_t = self.at.wide_count
        while low < high:
            middle: uint32_t = (low + high) >> 1
            if self.at.wide_turns[middle] < turn:
                low = middle + 1
            else:
                high = middle
        starts: cython.pointer(uint32_t) = self.at.streams + (PHASE_COUNT + 1) * cython.cast(cython.size_t, low)
        family.heap.count = 0
        family.turn, family.distance, family.decay = turn, distance, decay
        phase: cython.int
        for phase in range(PHASE_COUNT):
            family.next[phase], family.stop[phase], family.runs[phase] = starts[phase], starts[phase + 1], 0
            self.load_runs(family, phase)
        self.family_count += 1
        self.slot_of(turn).family = self.family_count
        return self.push_next(self.family_count - 1)

    def load_runs(self, family, phase):
        """Adds the heads of the next runs of a stream to the heap of the family: those of the next priority."""
        entry: Entry
        entry.priority, entry.distance, entry.family = 0, 0, phase
        while family.next[phase] < family.stop[phase]:
            entry.source = family.next[phase]
            entry.turn = self.at.members[entry.source]
            priority: cython.float = self.priority(entry.turn, family.decay)
            if family.runs[phase] and priority != entry.priority:
                break
            entry.priority = priority
            entry.rank = self.at.rank[entry.turn]
            push(cython.address(family.heap), cython.address(entry))
            family.runs[phase] += 1
            self.steps += 1
            family.next[phase] = self.end_of_run(entry.source, family.stop[phase])
        return 0

    def end_of_run(self, place, stop):
        """Returns the place after the last turn of the same salience in a stream."""
        value: cython.float = self.at.salience[self.at.members[place]]
        low: cython.size_t = place
        step: cython.size_t = 1
        while step < stop - low and self.at.salience[self.at.members[low + step]] == value:
            low += step
            step *= 2
        high: cython.size_t = min(low + step, cython.cast(cython.size_t, stop))
        while low + 1 < high:
            middle: cython.size_t = (low + high) >> 1
            if self.at.salience[self.at.members[middle]] == value:
                low = middle
            else:
                high = middle
        return cython.cast(uint32_t, high)

    def push_next(self, number):
        """Pushes the next turn of a family that was not visited."""
        family: cython.pointer(Family) = self.families + number
        entry: Entry
        while family.heap.count:
            entry = pop(cython.address(family.heap))
            turn: uint32_t = entry.turn
            phase: uint32_t = entry.family
            place: uint32_t = entry.source + 1
            if place < family.stop[phase] and self.at.salience[self.at.members[place]] == self.at.salience[turn]:
                entry.source, entry.turn = place, self.at.members[place]
                entry.rank = self.at.rank[entry.turn]
                push(cython.address(family.heap), cython.address(entry))
            else:
                family.runs[phase] -= 1
                if family.runs[phase] == 0:
                    self.load_runs(family, phase)
            slot: cython.pointer(Slot) = self.slot_of(turn)
            self.steps += 1
            if not slot.marks & VISITED and not self.in_family(turn, number):
                slot.marks |= VISITED
                entry.priority = self.priority(turn, family.decay)
                entry.distance, entry.rank = family.distance, self.at.rank[turn]
                entry.turn, entry.source, entry.family = turn, family.turn, number
                return push(cython.address(self.frontier), cython.address(entry))
        return 0
