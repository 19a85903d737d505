"""Tells texts of the user in other languages than English, for which the phrases of these rules say nothing.

What is known of them is little: that a text is one, and whether it has a word that forbids or that says that something
holds for good ("nie", "toujours", 不要). Such a text may be a rule.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from slicebase.context.lost.words import content_stems

_ENGLISH: Final = frozenset(
    {
        "the", "a", "an", "is", "are", "was", "were", "to", "of", "and", "for", "with", "that", "this", "it", "we",
        "you", "i", "not", "do", "does", "did", "don't", "can", "could", "should", "please", "if", "at", "be",
        "have", "has", "what", "why", "how", "when", "where", "which", "there", "they", "he", "she", "will", "would",
        "from", "as", "by", "but", "or", "so", "let's", "it's",
    }
)  # fmt: skip
# None of these is an English word, or the code of a language.
_OTHER: Final = frozenset(
    {
        "und", "nicht", "ist", "ein", "eine", "einen", "bitte", "auf", "für", "mit", "wir", "ich", "sie", "kein",
        "keine", "immer", "niemals", "von", "dass", "wenn", "auch", "noch", "werden", "der", "das", "dem", "nie", "nur",
        "aber", "oder", "nach", "bei", "beim", "zum", "zur", "mal", "jetzt", "wird", "sind", "sich", "darf", "soll",
        "warum", "mach", "les", "une", "pas", "pour", "dans", "avec", "nous", "vous", "je", "toujours", "jamais",
        "mais", "sur", "des", "au", "aux", "est", "sont", "sans", "cette", "faut", "il", "depuis", "fais", "las", "una",
        "para", "por", "que", "nunca", "siempre", "pero", "como", "los", "del", "está", "están", "hola", "desde",
        "ahora", "nada", "todo", "todos", "esto", "esta", "este", "cuando", "más", "también", "hay", "muy", "che",
        "sempre", "gli", "della", "sono", "anche", "nel", "questo", "questa", "aggiungi", "não", "uma",
        "você", "isso", "também", "um", "het", "een", "niet", "voor", "wij", "altijd", "nooit", "naar", "moet", "och",
        "är", "inte", "ett", "för", "aldrig", "alltid", "ikke", "og", "på", "jest", "się", "zawsze", "nigdy", "bir",
        "için", "değil", "jangan", "yang", "untuk",
    }
)  # fmt: skip
# These are, and count beside one of those.
_AMBIGUOUS: Final = frozenset(
    {
        "el", "la", "le", "de", "en", "es", "et", "ne", "du", "di", "da", "con", "den", "im", "zu", "un", "se", "si",
        "lo", "al", "os", "em", "na", "su", "no", "do", "per", "te", "op", "van", "att", "av", "w", "z", "a", "i", "o",
        "y", "e", "ou", "und", "ja", "qui", "ce", "non", "dan",
    }
)  # fmt: skip
# Words that forbid, or say that something holds for good; also the names of languages: "commits auf Deutsch".
_STAYING_WORDS: Final[Mapping[str, str]] = {
    "German": "nicht nichts nie niemals kein keine keinen keinem keiner immer stets nur ohne darf dürfen muss müssen "
    "verboten deutsch",
    "Spanish": "no nunca jamás siempre nada ningún ninguna ninguno sin solo sólo solamente debe deben prohibido "
    "español",
    "French": "ne pas jamais toujours aucun aucune rien sans seulement uniquement doit doivent interdit français",
    "Italian": "non mai sempre nessun nessuno nessuna senza soltanto deve devono vietato italiano",
    "Portuguese": "não nunca jamais sempre nenhum nenhuma sem só apenas deve devem proibido português",
    "Dutch": "niet nooit geen altijd alleen zonder moet moeten nederlands",
    "Swedish, Norwegian, Danish": "inte aldrig alltid ingen inget bara utan måste ikke aldri kun bare uden uten må",
    "Polish, Czech": "nie nigdy zawsze żaden żadnych tylko bez musi muszą nikdy vždy jen pouze nesmí",
    "Russian, Ukrainian": "не нет никогда всегда только без должен должна должно должны нельзя ніколи завжди тільки",
    "Finnish, Hungarian, Romanian": "älä älkää ei aina vain soha mindig csak nu niciodată mereu doar",
    "Turkish, Indonesian, Vietnamese": "asla hiç her sadece değil jangan tidak selalu hanya harus không đừng luôn chỉ",
    "Greek, Hindi": "μη μην δεν ποτέ πάντα μόνο नहीं मत कभी हमेशा केवल",
    "Arabic, Hebrew": "لا ليس أبدا دائما فقط يجب לא אל תמיד רק",
}
_STAYS: Final = frozenset(word for words in _STAYING_WORDS.values() for word in words.split())
_STAYS_IN: Final = re.compile(  # Chinese, Japanese, Korean and Thai have no spaces, or endings
    "不|别|勿|禁|必须|總是|总是|始终|只|永远|一律|ない|ません|ずに|必ず|常に|絶対|だけ|いつも|마|않|항상|절대|금지|반드시|ห้าม|อย่า|ไม่|เสมอ|中文|日本語|한국어"
)
_LETTER: Final = re.compile(r"[^\W\d_]")
_WORDS: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


# A path is of no language. A name begins where a word does: a long word would be read again from each letter.
_NAMED: Final = re.compile(r"`[^`]*`|https?://\S+|(?<![\w-])[\w-]+(?:[./_][\w-]+)+", re.ASCII)
# Of these scripts, a character is nearer to a word than to a letter.
_WHOLE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0002ffff]")
# Neither are the parts of "non-root" and "de_DE".
_JOINED: Final = re.compile(r"`[^`]*`|https?://\S+|(?<![^\W_])[^\W_]+(?:[-./_]+[^\W_]+)+")
_BORROWED: Final = frozenset({"naïve", "café", "résumé", "façade", "cliché", "über", "déjà"})  # by English
_MOST_OF_A_WORD: Final = 3  # letters more


def whole_words(text: str) -> int:
    """Returns how many characters of a text stand for about a word each, as Chinese ones do."""
    return len(_WHOLE.findall(text))


def is_other_language(text: str, *, among_others: bool = False) -> bool:
    """Returns whether a text is not in English.

    `among_others` says that the other texts of its author are not: then few words without any English are not, either.
    """
    letters = _LETTER.findall(_NAMED.sub(" ", text))
    whole = _MOST_OF_A_WORD * whole_words(text)
    if (sum(letter > "\u036f" for letter in letters) + whole) * 2 > len(letters) + whole:
        return True
    words = _words(_JOINED.sub(" ", text))
    english, known = len(words & _ENGLISH), len(words & _OTHER)
    strange = sum(not word.isascii() for word in words - _OTHER - _BORROWED)
    # One such word beside English ones that are also of another language may be a name: "no calls to José".
    foreign = known + strange if known or strange > 1 or among_others else 0
    if among_others:
        return english <= foreign + len(words & _AMBIGUOUS)
    return foreign > 0 and foreign + len((words & _AMBIGUOUS) - _ENGLISH) > max(1, english)


def are_other_language(texts: Iterable[str]) -> bool:
    """Returns whether most texts of an author are not in English, of those that are long enough to tell."""
    found = 0
    for text in texts:
        if is_other_language(text):
            found += 1
        elif len(_words(text) & _ENGLISH) > 1:
            found -= 1
    return found > 0


def may_stay(text: str) -> bool:
    """Returns whether a text in another language has a word of what stays in force: one that forbids, or "always"."""
    return not _STAYS.isdisjoint(_words(text)) or _STAYS_IN.search(text) is not None


def says_enough(text: str) -> bool:
    """Returns whether what the user says in another language is more than a few words or a question."""
    enough = max(len(content_stems(text)), whole_words(text)) >= _LEAST
    return enough and not text.rstrip().endswith(("?", "？", "؟"))


_LEAST: Final = 4  # content words


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORDS.findall(re.sub(r"`[^`]*`|https?://\S+", " ", text.lower())))
