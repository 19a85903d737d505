# cython: language_level=3, cdivision=True
"""The compiled version of `slicebase.graph.atlas.survey`. native_survey.pxd has the types.

The slot of a turn that is selected has the number of turns that were reached through it, and one, as its place.
"""

import cython

if not cython.compiled:
    raise ImportError("the survey is not compiled")

from cython.cimports.libc.math import rint
from cython.cimports.libc.stdint import int64_t, uint32_t
from cython.cimports.slicebase.graph.native_expand import NOTHING, Entry, Slot


class Surveyor:
    """An expander that counts."""

    def __cinit__(self):
        self.anchor = NOTHING

    def select(self, anchor):
        """Selects the turns around an anchor, and counts for each how many were reached through it."""
        self.anchor = NOTHING
        self.run(anchor)
        number: cython.size_t
        for number in range(self.selected.count):
            self.find(self.selected.items[number].turn).place = 1
        number = self.selected.count
        while number > 1:  # the first one is the anchor; a turn comes after the one that it was reached from
            number -= 1
            entry: cython.pointer(Entry) = self.selected.items + number
            self.find(entry.source).place += self.find(entry.turn).place
        self.anchor = anchor
        return 0

    def count(self, figures):
        """Adds the figures of the selected turns, but for the anchor."""
        number: cython.size_t
        for number in range(1, self.selected.count):
            entry: cython.pointer(Entry) = self.selected.items + number
            turn: uint32_t = entry.turn
            slot: cython.pointer(Slot) = self.find(turn)
            figures.slices[turn] += 1
            figures.influence[turn] += cython.cast(
                int64_t, rint(cython.cast(cython.double, entry.priority) * A_MILLION)
            )
            figures.carried[turn] += slot.place - 1
        return 0

    def in_common(self, other):
        """Returns how many turns both have selected."""
        found: uint32_t = 0
        number: cython.size_t
        for number in range(self.selected.count):
            if other.find(self.selected.items[number].turn).place:
                found += 1
        return found

    def compare(self, above, place, upper, figures):
        """Notes the size of the selection, and what it has in common with that of the anchor above."""
        figures.sizes[place] = cython.cast(uint32_t, self.selected.count)
        if upper != NOTHING:
            if above.anchor != upper:
                above.select(upper)
            figures.shared[place] = self.in_common(above)
        return 0


def survey(one, other, anchors, uppers, count, figures):
    """Selects the slices of anchors, and counts. `uppers` has the nearest anchor above each, or `NOTHING`.

    An anchor is mostly the one above the next. So the two surveyors take turns: the slice of the one is there already.
    """
    place: cython.size_t
    is_one: cython.bint = True
    for place in range(count):
        if uppers[place] == (one.anchor if is_one else other.anchor):
            is_one = not is_one
        if is_one:
            one.select(anchors[place])
            one.count(figures)
            one.compare(other, place, uppers[place], figures)
        else:
            other.select(anchors[place])
            other.count(figures)
            other.compare(one, place, uppers[place], figures)
    return 0
