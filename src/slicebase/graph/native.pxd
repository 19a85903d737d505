# The C types of native.py.

from libc.stdint cimport uint32_t

from slicebase.graph.native_export cimport KIND_COUNT, TYPE_COUNT, SliceWriter, Text
from slicebase.graph.native_expand cimport Arrays, Rules

# The digest of the sources when they were compiled, which setup.py passes: a test notices a stale file by it.
cdef extern from *:
    """
    #ifndef SLICEBASE_NATIVE_SOURCE
    #define SLICEBASE_NATIVE_SOURCE ""
    #endif
    """
    const char *SLICEBASE_NATIVE_SOURCE

cdef enum:
    LOCKED_TURNS = 4096  # a slice that may have more is selected without the interpreter's lock

cdef class PreparedPolicy:
    cdef Rules rules
    cdef object policy
    cdef object params_hash
    cdef bytes held_tail
    cdef bytes held_end
    cdef Text tail  # of the text that is hashed
    cdef Text end  # of the export, up to the slice_id

cdef class Kernel:
    cdef Arrays at
    cdef Text heads[KIND_COUNT]
    cdef Text types[TYPE_COUNT]
    cdef list held  # what the addresses point to
    cdef list idle  # writers that no thread uses
    cdef PreparedPolicy last

    cdef size_t address(self, object values) except? 0
    cdef int find_wide(self) except -1
    cdef SliceWriter writer(self)
    cdef int leave(self, SliceWriter writer) except -1
    cdef PreparedPolicy prepared(self, object policy)
    cdef uint32_t number(self, str turn_id) except? 0xFFFFFFFE
    cdef int refuse_unknown(self, uint32_t turn) except -1
