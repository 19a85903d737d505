"""Words of dates in eleven languages: months, days of the week, units, and words such as "yesterday" and "ago"."""

from typing import Final, NamedTuple


class Month(NamedTuple):
    """What a name of a month means: its number, and the words before it that show that it is one."""

    number: int
    after: frozenset[str]  # only after one of these, or next to a number; empty for a name that is nothing else


def _table(*lines: str) -> dict[str, int]:
    """Returns words with numbers from 1 on; each line has the words of one meaning of one language after the other."""
    return {word: number for line in lines for number, words in enumerate(line.split(), 1) for word in words.split("/")}


_ENGLISH: Final = "january february march april may june july august september october november december"
_SHORT: Final = "jan feb mar apr may jun jul aug sep/sept oct nov dec"
_IN_ENGLISH: Final = frozenset(
    "after before between by during early from in last late of on since until".split()  # noqa: SIM905
)
# The names of a language, with the words that come before them.
_OTHERS: Final = (
    ("januar/jänner februar/feber märz/maerz april mai juni juli august september oktober november dezember",
     "im seit bis ab vom letzten letzter diesen anfang ende mitte"),
    ("janvier février/fevrier mars avril mai juin juillet août/aout septembre octobre novembre décembre/decembre",
     "en de depuis fin début"),
    ("enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre",
     "en de desde hasta"),
    ("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
     "in di a da dal nel"),
    ("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
     "em de desde até"),
    ("januari februari maart april mei juni juli augustus september oktober november december",
     "in van sinds tot vorige"),
    ("styczeń/stycznia/styczniu luty/lutego/lutym marzec/marca/marcu kwiecień/kwietnia/kwietniu maj/maja/maju"
     " czerwiec/czerwca/czerwcu lipiec/lipca/lipcu sierpień/sierpnia/sierpniu wrzesień/września/wrześniu"
     " październik/października/październiku listopad/listopada/listopadzie grudzień/grudnia/grudniu",
     "w we od do"),
    ("январь/января/январе/январю/январём февраль/февраля/феврале/февралю/февралём март/марта/марте/марту/мартом"
     " апрель/апреля/апреле/апрелю/апрелем май/мая/мае/маю/маем июнь/июня/июне/июню/июнем июль/июля/июле/июлю/июлем"
     " август/августа/августе/августу/августом сентябрь/сентября/сентябре/сентябрю/сентябрём"
     " октябрь/октября/октябре/октябрю/октябрём ноябрь/ноября/ноябре/ноябрю/ноябрём"
     " декабрь/декабря/декабре/декабрю/декабрём",
     "в с до к от прошлом"),
    ("ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık", "geçen bu"),
)  # fmt: skip


def _months() -> dict[str, Month]:
    found: dict[str, Month] = {}
    for names, before in _OTHERS:
        for name, number in _table(names).items():
            known = found[name].after if name in found else frozenset()
            found[name] = Month(number, known | frozenset(before.split()))
    for name, number in _table(_SHORT).items():
        found[name] = Month(number, _IN_ENGLISH)
    for name, number in _table(_ENGLISH).items():
        found[name] = Month(number, _IN_ENGLISH if name in ("march", "may") else frozenset())
    return found


MONTHS: Final = _months()
VERBS: Final = frozenset({"may", "march"})  # next to a number in lower case, mostly not months: "3 users may 5 times"
BEFORE_CAPITALS: Final = frozenset({"and", "through", "to"})  # "from March to May", not "to march"

WEEKDAYS: Final = _table(
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
)
BEFORE_A_WEEKDAY: Final = frozenset(("on", "since", "am", "seit", "op", "sinds", "el", "desde"))

DAYS_AGO: Final = {word: days - 1 for word, days in _table(
    "today/tonight yesterday", "heute gestern vorgestern", "aujourd", "hoy ayer anteayer", "oggi ieri altroieri",
    "hoje ontem anteontem", "vandaag gisteren eergisteren", "dziś/dzisiaj wczoraj przedwczoraj",
    "сегодня вчера позавчера", "bugün dün", "今天/今日 昨天/昨日 前天/一昨日", "오늘 어제 그저께/그제",
).items()}  # fmt: skip
PARTS_OF_A_DAY: Final = frozenset(("morning", "afternoon", "evening", "noon"))

MINUTE, HOUR, DAY, WEEK, MONTH, YEAR = "minute", "hour", "day", "week", "month", "year"
UNITS: Final = {
    word: unit
    for unit, words in {
        MINUTE: "minute/minutes",
        HOUR: "hour/hours",
        DAY: "day/days tag/tage/tagen jour/jours día/días giorno/giorni dia/dias dag/dagen dzień/dni день/дня/дней gün",
        WEEK: "week/weeks woche/wochen semaine/semaines semana/semanas settimana/settimane weken tydzień/tygodnie"
        "/tygodni/tygodniu неделя/неделю/недели/недель/неделе hafta",
        MONTH: "month/months monat/monate/monaten mois mes/meses mese/mesi mês maand/maanden miesiąc/miesiące/miesięcy"
        "/miesiącu месяц/месяца/месяцев/месяце ay",
        YEAR: "year/years jahr/jahre/jahren an/ans/année/années año/años anno/anni ano/anos jaar/jaren rok/roku/lata"
        "/lat год/года/лет/году yıl",
    }.items()
    for word in words.replace("/", " ").split()
}
_ENGLISH_UNITS: Final = frozenset("minute minutes hour hours day days week weeks month months year years".split())  # noqa: SIM905
NOT_ENGLISH: Final = frozenset({*MONTHS, *UNITS}) - _ENGLISH_UNITS - {*_table(_ENGLISH), *_table(_SHORT)}
# One of these units ago, without a number: "неделю назад". Of the others, it would not be one: "many days ago".
SINGLE: Final = frozenset("minute hour day week month year dzień tydzień miesiąc rok день неделю месяц год".split())  # noqa: SIM905
LAST_AFTER: Final = frozenset(  # before the unit, or after it
    """letzte letzten letzter letztes vergangene vergangenen vergangener vorige voriges vorigen
    dernier dernière passé passée pasado pasada scorso scorsa passato passata passado passada zeszłym zeszły ubiegłym
    прошлой прошлом прошлую прошлый geçen""".split()  # noqa: SIM905
)
LAST_WORDS: Final = LAST_AFTER | {"last", "past", "previous"}
ENGLISH: Final = frozenset(("last", "past", "previous", "this"))  # with English units and months: "last tag" is no day
THIS: Final = frozenset("this diese diesen dieser dieses cette esta este questa questo deze tym этой этом bu".split())  # noqa: SIM905
AGO: Final = frozenset("ago fa atrás geleden temu назад önce".split())  # noqa: SIM905 - after a number of days
BEFORE_AGO: Final = frozenset(("vor", "hace", "há"))  # before it
SINCE: Final = frozenset("since seit depuis desde sinds od с".split())  # noqa: SIM905

_COUNTS: Final = (
    "one/a/an two three four five six seven eight nine ten eleven twelve",
    "ein/eine/einem/einer/einen zwei drei vier fünf sechs",
    "un/une deux trois quatre cinq six", "una/uno dos tres cuatro cinco seis", "una due tre quattro cinque sei",
    "um/uma dois/duas três quatro cinco seis", "een twee drie vier vijf zes", "jeden dwa/dwie trzy cztery pięć sześć",
    "один/одну два/две три четыре пять шесть", "bir iki üç dört beş altı",
)  # fmt: skip
COUNTS: Final = _table(*_COUNTS)
FEW: Final = {"couple": (1, 3), "few": (2, 5), "several": (3, 9)}  # from so many to so many

# Words between two dates that make them one span; those of the second kind only after a word such as "between".
TO: Final = frozenset("- to until till through thru bis hasta até tot до".split())  # noqa: SIM905
TO_AFTER_FROM: Final = frozenset("a à al au do по".split())  # noqa: SIM905 - of several meanings
AND: Final = frozenset("and und et y e en i и".split())  # noqa: SIM905
BETWEEN: Final = frozenset("between zwischen entre tra fra tussen między между".split())  # noqa: SIM905
FROM: Final = frozenset("du del dal de da desde od с".split())  # noqa: SIM905
LINKS: Final = frozenset("- of de del".split())  # noqa: SIM905 - between day, month and year

# Words before a date that change nothing of what `before:` and `after:` take from it.
BEFORE_DATES: Final = (
    BETWEEN
    | FROM
    | SINCE
    | BEFORE_A_WEEKDAY
    | frozenset(
        "in the from im den der le la en il y nel em na no w we в на de".split()  # noqa: SIM905
    )
)

# In scripts without spaces.
LAST_UNITS: Final = {
    "上周": WEEK, "上週": WEEK, "先週": WEEK, "지난주": WEEK, "上个月": MONTH, "上個月": MONTH, "先月": MONTH,
    "지난달": MONTH, "去年": YEAR, "昨年": YEAR, "작년": YEAR,
}  # fmt: skip
UNSPACED_UNITS: Final = {
    "天": DAY, "日": DAY, "일": DAY, "周": WEEK, "週間": WEEK, "週": WEEK, "주": WEEK, "个月": MONTH, "個月": MONTH,
    "か月": MONTH, "ヶ月": MONTH, "개월": MONTH, "年": YEAR, "년": YEAR,
}  # fmt: skip
