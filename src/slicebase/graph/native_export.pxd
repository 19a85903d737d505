# The C types of native_export.py.

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t, uint64_t

from slicebase.graph.native_expand cimport Expander, Rules

cdef enum:
    ID_SIZE = 36
    KIND_COUNT = 20  # of roles and phases
    TYPE_COUNT = 4  # of edges
    NUMBER_SIZE = 24  # bytes of an integer's text, or of a decimal's
    WRITTEN_SIZE = 4 << 20  # bytes of exports after which a call returns what it has
    TURN_SIZE = 512  # bytes of a turn's text without its head

cdef struct Text:
    const char *data
    size_t count

cdef struct Buffer:
    char *data
    size_t count
    size_t room

cdef struct Pair:
    uint64_t key
    uint32_t value

cdef struct Pairs:
    Pair *items
    size_t count
    size_t room

# A slice that is asked for, and where its export ends.
cdef struct Job:
    uint32_t anchor
    const Rules *rules
    Text tail  # of the text that is hashed
    Text end  # of the export, up to the slice_id
    size_t stop

cdef class SliceWriter(Expander):
    cdef Text heads[KIND_COUNT]
    cdef Text types[TYPE_COUNT]
    cdef Buffer export
    cdef Buffer hashed
    cdef Buffer written
    cdef Pairs turns
    cdef Pairs edges
    cdef char name[16]

    cdef int write(self, uint32_t anchor, Text tail, Text end) except -1 nogil
    cdef int put_slice(self, uint32_t anchor, Text tail, Text end) except -1 nogil
    cdef size_t write_all(self, Job *jobs, size_t count) except? 0 nogil
    cdef int sort_turns(self) except -1 nogil
    cdef int sort_edges(self) except -1 nogil
    cdef int put_turn(self, uint32_t turn) except -1 nogil
    cdef int put_edges(self) except -1 nogil
    cdef int put_decimal(self, float value) except -1 nogil
    cdef int put_searched(self, float value) except -1 nogil

cdef int reserve(Buffer *buffer, size_t count) except -1 nogil
cdef int append(Pairs *pairs, uint64_t key, uint32_t value) except -1 nogil
cdef int by_key(const void *one, const void *other) noexcept nogil
cdef int put(Buffer *buffer, const char *text, size_t count) noexcept nogil
cdef int put_literal(Buffer *buffer, const char *text) except -1 nogil
cdef int put_id(Buffer *buffer, const char *id) noexcept nogil
cdef int put_integer(Buffer *buffer, int64_t value) noexcept nogil
cdef int put_digits(Buffer *buffer, uint64_t value, int decimals) noexcept nogil
cdef int64_t integer_at(const unsigned char *data, uint32_t size) noexcept nogil
cdef float float_at(const unsigned char *data) noexcept nogil
cdef uint64_t turned(uint64_t value, int bits) noexcept nogil
cdef uint64_t word_at(const char *data) noexcept nogil
cdef uint64_t mixed(uint64_t lane, uint64_t word) noexcept nogil
cdef uint64_t xxh64(const char *data, size_t count) noexcept nogil
