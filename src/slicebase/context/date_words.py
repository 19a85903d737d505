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
    "сегодня вчера позавчера", "bugün dün", "今天/今日/本日 昨天/昨日/昨晚/昨夜 前天/一昨日/おととい 大前天",
    "오늘 어제 그저께/그제 그그저께",
).items()}  # fmt: skip
# Before a word of one of these days, they make it the day before.
DAY_BEFORE: Final = frozenset((
    ("day", "before", "yesterday"), ("antes", "de", "ayer"), ("antes", "de", "ontem"), ("l", "altro", "ieri"),
))  # fmt: skip
# Days that are two words.
TWO_DAYS_AGO: Final = frozenset((("avant", "-", "hier"), ("evvelsi", "gün"), ("önceki", "gün")))
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
        MONTH: "month/months monat/monate/monaten/monats mois mes/meses mese/mesi mês maand/maanden miesiąc/miesiące"
        "/miesięcy/miesiącu месяц/месяца/месяцев/месяце ay",
        YEAR: "year/years jahr/jahre/jahren/jahres an/ans/année/années año/años anno/anni ano/anos jaar/jaren rok/roku"
        "/lata/lat год/года/лет/году yıl/sene",
    }.items()
    for word in words.replace("/", " ").split()
}
_ENGLISH_UNITS: Final = frozenset("minute minutes hour hours day days week weeks month months year years".split())  # noqa: SIM905
NOT_ENGLISH: Final = frozenset({*MONTHS, *UNITS}) - _ENGLISH_UNITS - {*_table(_ENGLISH), *_table(_SHORT)}
# One of these units ago, without a number: "неделю назад". Of the others, it would not be one: "many days ago".
SINGLE: Final = frozenset("minute hour day week month year dzień tydzień miesiąc rok день неделю месяц год".split())  # noqa: SIM905
LAST_AFTER: Final = frozenset(  # before the unit, or after it
    """letzte letzten letzter letztes vergangene vergangenen vergangener vergangenes vorige vorigen voriger voriges
    dernier dernière passé passée pasado pasada scorso scorsa passato passata passado passada afgelopen verleden vorig
    zeszłego zeszły zeszłym ubiegłego ubiegły ubiegłym прошлого прошлой прошлом прошлую прошлый geçen""".split()  # noqa: SIM905
)
LAST_WORDS: Final = LAST_AFTER | {"last", "past", "previous"}
ENGLISH: Final = frozenset(("last", "past", "previous", "this"))  # with English units and months: "last tag" is no day
THIS: Final = frozenset("this diese diesen dieser dieses cette esta este questa questo deze tym этой этом bu".split())  # noqa: SIM905
AGO: Final = frozenset("ago fa atrás geleden temu назад önce".split())  # noqa: SIM905 - after a number of days
BEFORE_AGO: Final = frozenset(("vor", "hace", "há", "faz"))  # before it
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
# Between a month and "last year", or the other way round, two of them at most.
LINKS_TO_A_YEAR: Final = frozenset("of de del d do dell des in im en em le l no van het w в".split())  # noqa: SIM905

# Words before a date that change nothing of what `before:` and `after:` take from it.
BEFORE_DATES: Final = (
    BETWEEN
    | FROM
    | SINCE
    | BEFORE_A_WEEKDAY
    | frozenset(
        "in the from im den der le la l en il o y nel em na no w we в на de".split()  # noqa: SIM905
    )
)
# Words after a date that change nothing of it.
AFTER_DATES: Final = frozenset(("года", "году", "roku"))

# In scripts without spaces: units of the calendar, with how many of them before that of today. There may be a space.
UNSPACED_LAST: Final = {
    name: (unit, back)
    for unit, back, names in (
        (WEEK, 0, "这周/本周/这星期/这个星期/這週/本週/這個星期/今週/이번 주"),
        (WEEK, 1, "上周/上週/上星期/上个星期/上個星期/上礼拜/上个礼拜/先週/지난 주/저번 주"),
        (WEEK, 2, "上上周/上上週/上上个星期/先々週/지지난 주"),
        (MONTH, 0, "这个月/這個月/本月/今月/이번 달"),
        (MONTH, 1, "上个月/上個月/上月/先月/지난 달/저번 달"),
        (MONTH, 2, "上上个月/上上個月/先々月/지지난 달"),
        (YEAR, 0, "今年/올해"),
        (YEAR, 1, "去年/昨年/작년/지난 해"),
        (YEAR, 2, "一昨年/おととし/재작년"),
    )
    for name in names.split("/")
}
UNSPACED_UNITS: Final = {
    "天": DAY, "日": DAY, "일": DAY, "周": WEEK, "週間": WEEK, "週": WEEK, "星期": WEEK, "个星期": WEEK, "個星期": WEEK,
    "礼拜": WEEK, "个礼拜": WEEK, "주": WEEK, "주일": WEEK, "个月": MONTH, "個月": MONTH, "か月": MONTH, "ヶ月": MONTH,
    "カ月": MONTH, "ヵ月": MONTH, "ケ月": MONTH, "개월": MONTH, "달": MONTH, "年": YEAR, "년": YEAR,
}  # fmt: skip
UNSPACED_DAYS: Final = _table("하루 이틀 사흘 나흘 닷새 엿새 이레 여드레 아흐레 열흘")  # so many, in one word

_HAN: Final = "一二三四五六七八九"
_HAN_DIGITS: Final = {**{sign: number for number, sign in enumerate(_HAN, 1)}, "两": 2, "兩": 2}
_HAN_SIGNS: Final = "".join(_HAN_DIGITS)
_NOT_IN_A_NUMBER: Final = f"(?<![{_HAN_SIGNS}十百千万萬亿億零〇第月数數几幾半])"
HAN_COUNT: Final = f"{_NOT_IN_A_NUMBER}(?:[{_HAN_SIGNS}]?十[{_HAN}]?|[{_HAN_SIGNS}])"
HAN_MONTH: Final = f"{_NOT_IN_A_NUMBER}(?:十[一二]?|[{_HAN}])"
HAN_DAY: Final = f"(?:[二三]?十[{_HAN}]?|[{_HAN}])"
_KOREAN: Final = _table("한 두 세/석 네/넉 다섯 여섯 일곱 여덟 아홉 열")
_SINO_KOREAN: Final = _table("일 이 삼 사 오 육 칠 팔 구 십")  # not with every unit: "이 일 전" is "before this work"
KOREAN_COUNT: Final = rf"(?<![^\W_])(?:{'|'.join(_KOREAN)}|(?:{'|'.join(_SINO_KOREAN)})(?=[ ]?(?:주|개월|년)))"


def unspaced_count(text: str) -> str:
    """Returns a number that is written in digits, with Han characters, in Korean, or as "a few" as an English word."""
    if text in "几幾数數몇":
        return "few"
    tens, ten, ones = text.partition("十")
    if ten:
        return str(10 * _HAN_DIGITS.get(tens, 1) + _HAN_DIGITS.get(ones, 0))
    return str({**_HAN_DIGITS, **_SINO_KOREAN, **_KOREAN}.get(text, text))
