# The C types of native_on_demand.py.

from libc.stddef cimport size_t
from libc.stdint cimport uint32_t

from slicebase.graph.native cimport PreparedPolicy
from slicebase.graph.native_expand cimport Entry
from slicebase.graph.native_export cimport SliceWriter

cdef enum:
    UUID_SIZE = 16  # bytes of an id in the database
    TRAJECTORY_SIZE = 28  # two integers of eight bytes, three binary32 numbers
    RECORD_SIZE = 36  # the trajectory, and the time in eight bytes

# A turn by its id.
cdef struct Named:
    unsigned char id[UUID_SIZE]
    uint32_t turn  # its place among the reached turns; once they are sorted, among the selected ones

cdef class SliceReader(SliceWriter):
    cdef object source
    cdef object policy
    cdef object siblings
    cdef PreparedPolicy prepared
    cdef uint32_t wide
    cdef Named *reached
    cdef size_t reached_count
    cdef size_t reached_room
    cdef list numbers  # of the reached turns
    cdef set visited
    cdef set expanded
    cdef dict ranks  # of wide families that were opened, by the number of the turn
    cdef list members  # of wide families that were opened: those that have not left them
    cdef list held  # what the addresses point to

    cdef bint leaves_before(self, Entry *one, Entry *other) noexcept
    cdef int add(self, Entry *entry) except -1
    cdef Entry take(self)
    cdef int reach(
        self, bytes turn, object number, float priority, uint32_t distance, uint32_t reached_from, uint32_t family
    ) except -1
    cdef bint belongs(self, object number, size_t before) except -1
    cdef int push_all(self, object turns, uint32_t distance, uint32_t reached_from) except -1
    cdef int push_member(self, uint32_t family, uint32_t distance, uint32_t reached_from) except -1
    cdef int walk(self, object anchor) except -1
    cdef int ask(self, uint32_t turn, uint32_t distance) except -1
    cdef list sorted_numbers(self)
    cdef char *room(self, size_t size) except NULL
    cdef set lay_out(self, list numbers)

cdef int by_name(const void *one, const void *other) noexcept nogil
cdef int put_uuid(const unsigned char *id, char *text) noexcept
