"""Forms of English words that are not made by an ending, so that their stems differ: `bought` for `buy`.

A question about what somebody *buys* is answered by what they *bought*. Only what is written in lower case is looked
up: *Rose* and *Drew* are names.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

# Without the forms of words that only ask or join (be, do, have), and without those whose stem is that of the word.
_FORMS: Final = """
become became; begin began begun; bend bent; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke
broken; breed bred; bring brought; build built; buy bought; catch caught; choose chose chosen; come came; deal dealt;
dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed
fed; feel felt; fight fought; find found; flee fled; fly flew flown; forget forgot forgotten; forgive forgave
forgiven; freeze froze frozen; get got gotten; give gave given; go goes went gone; grow grew grown; hang hung; hear
heard; hide hid hidden; hold held; keep kept; know knew known; lead led; learn learnt; leave left; lend lent; lose
lost; make made; mean meant; meet met; pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say said;
see saw seen; seek sought; sell sold; send sent; shake shook shaken; shine shone; shoot shot; show shown; shrink
shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; spend spent; spin
spun; spring sprang sprung; stand stood; steal stole stolen; stick stuck; strike struck; swear swore sworn; sweep
swept; swim swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told; think thought; throw
threw thrown; understand understood; wake woke woken; wear wore worn; weave wove woven; win won; write wrote written;
child children; foot feet; knife knives; man men; mouse mice; shelf shelves; tooth teeth; wife wives; woman women
"""
_WORD: Final = r"(?<![\w'’])[a-z]{2,}(?![\w'’])"  # of `won't`, nothing


def in_lower_case(text: str) -> set[str]:
    """Returns the words of a text that are written in lower case, and are no part of a longer one."""
    return set(re.findall(_WORD, text))


def inflections(stems: Callable[[str], Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Returns for the stem of each such form the stems of the others. `stems` returns those of the words of a text."""
    found: dict[str, tuple[str, ...]] = {}
    for group in _FORMS.split(";"):
        forms = tuple(dict.fromkeys(stems(group)))
        found |= {form: tuple(other for other in forms if other != form) for form in forms}
    return found
