# The C types of native_expand.py.

from libc.stddef cimport size_t
from libc.stdint cimport uint32_t, uint64_t

cdef enum:
    PHASE_COUNT = 5
    NOTHING = 0xFFFFFFFF  # no turn, or no family
    FEW_SLOTS = 512  # of a new expander
    KEPT_SLOTS = 8192  # one with more slots is not used again
    SPREAD = 0x1E3779B97F4A7C15  # odd: its multiples are far apart
    STEPS = 1 << 18  # between two looks at signals
    # The marks of a turn
    VISITED = 1
    EXPANDED = 2
    ASKED = 4  # its children were pushed as siblings

# A turn on the frontier. In the heap of a family, `source` is its place in the stream, and `family` is its phase.
cdef struct Entry:
    float priority
    uint32_t distance
    uint32_t rank
    uint32_t turn
    uint32_t source
    uint32_t family

cdef struct Heap:
    Entry *items
    size_t count
    size_t room

cdef struct Slot:
    uint32_t key  # the turn and one; 0 if the slot is empty
    uint32_t marks
    uint32_t family  # its rank and one, if the turn's children are a wide family that was opened
    uint32_t place  # in the order of ids, among the selected turns, and one

# A wide family that was opened. The heap has the heads of the runs of equal priority; the rest of each stream follows.
cdef struct Family:
    Heap heap
    uint32_t turn
    uint32_t distance
    double decay
    uint32_t next[PHASE_COUNT]
    uint32_t stop[PHASE_COUNT]
    uint32_t runs[PHASE_COUNT]  # in the heap

# The arrays of a compact session, and the children of wide families by phase and salience.
cdef struct Arrays:
    uint32_t count
    const char *ids
    const uint32_t *by_id
    const uint32_t *rank
    const unsigned char *kind
    const float *salience
    const unsigned char *rest
    uint32_t size  # bytes of a record in `rest`
    uint32_t depth_size
    uint32_t order_size
    uint32_t time_size
    const uint32_t *parent_start
    const uint32_t *parent
    const unsigned char *types
    const uint32_t *child_start
    const uint32_t *child
    uint32_t wide  # a family with more children is wide
    uint32_t wide_count
    uint32_t *wide_turns  # sorted
    uint32_t *streams  # for each wide family, where its streams begin in `members`, and where the last one ends
    uint32_t *members

# The numbers of a policy, in binary32.
cdef struct Rules:
    float weights[PHASE_COUNT]
    float salience_weight
    float decay
    uint64_t max_nodes
    uint32_t max_radius
    uint64_t siblings

cdef class Expander:
    cdef Arrays at
    cdef Rules rules
    cdef Heap frontier
    cdef Heap beside
    cdef Heap selected  # in the order of selection: it is never sorted
    cdef Family *families
    cdef uint32_t family_count
    cdef uint32_t family_room
    cdef Slot *slots
    cdef size_t slot_count
    cdef size_t slot_room
    cdef uint32_t steps

    cdef int start(self) except -1 nogil
    cdef Slot *find(self, uint32_t turn) noexcept nogil
    cdef Slot *slot_of(self, uint32_t turn) except NULL nogil
    cdef int more_slots(self) except -1 nogil
    cdef float priority(self, uint32_t turn, double decay) noexcept nogil
    cdef bint in_family(self, uint32_t turn, uint32_t rank) noexcept nogil
    cdef int discover(self, uint32_t turn, uint32_t distance, double decay, uint32_t source) except -1 nogil
    cdef int run(self, uint32_t anchor) except -1 nogil
    cdef int expand(self, Entry *here) except -1 nogil
    cdef bint has_unexpanded(self, uint32_t first, uint32_t end) noexcept nogil
    cdef int ask_parent(self, Entry *here, uint32_t above, double decay) except -1 nogil
    cdef int ask_parents(self, Entry *here, uint32_t first, uint32_t end, double decay) except -1 nogil
    cdef int open_family(self, uint32_t turn, uint32_t distance, double decay) except -1 nogil
    cdef int load_runs(self, Family *family, uint32_t phase) except -1 nogil
    cdef uint32_t end_of_run(self, uint32_t place, uint32_t stop) noexcept nogil
    cdef int push_next(self, uint32_t number) except -1 nogil

cdef int no_memory() except -1 nogil
cdef int look_at_signals() except -1 nogil
cdef bint before(Entry *one, Entry *other) noexcept nogil
cdef int more_room(Heap *heap) except -1 nogil
cdef int push(Heap *heap, Entry *entry) except -1 nogil
cdef Entry pop(Heap *heap) noexcept nogil
cdef double power(double base, uint32_t exponent) noexcept nogil
