# The C types of native_survey.py.

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t, uint64_t

from slicebase.graph.native_expand cimport Expander

cdef enum:
    A_MILLION = 1000000

# The figures of turns, by turn; and those of anchors, in their order.
cdef struct Figures:
    uint32_t *slices
    int64_t *influence
    uint64_t *carried
    uint32_t *sizes
    uint32_t *shared

cdef class Surveyor(Expander):
    cdef uint32_t anchor  # of the last expansion

    cdef int select(self, uint32_t anchor) except -1 nogil
    cdef int count(self, Figures *figures) except -1 nogil
    cdef uint32_t in_common(self, Surveyor other) noexcept nogil
    cdef int compare(self, Surveyor above, size_t place, uint32_t upper, Figures *figures) except -1 nogil

cdef int survey(
    Surveyor one, Surveyor other, const uint32_t *anchors, const uint32_t *uppers, size_t count, Figures *figures
) except -1 nogil
