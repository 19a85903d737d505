"""Dates of a text: each form is read as what it means, and what only looks like a date is not one."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.context.date_words import MONTHS
from slicebase.context.dates import dates, only_date
from slicebase.context.when import DateRange, When
from slicebase.core.times import from_text

NOW = from_text("2024-05-16T15:00:00Z")  # a Thursday


def day(month: int, of: int, year: int | None = 2024) -> When:
    return When(year, month, of)


def days(first: tuple[int, int], last: tuple[int, int], year: int | None = 2024) -> DateRange:
    return DateRange(day(*first, year), day(*last, year))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 2026-01-31?", [When(2026, 1, 31)]),
        ("in 2026-01.", [When(2026, 1)]),
        ("2026-1-5 and 2026-1-31", [When(2026, 1, 5), When(2026, 1, 31)]),
        ("on 13 October, 2023", [When(2023, 10, 13)]),
        ("on October 13th, 2023", [When(2023, 10, 13)]),
        ("the 5th of May", [day(5, 5, None)]),
        ("May 5,2023", [When(2023, 5, 5)]),
        ("05-Mar-2024", [day(3, 5)]),
        ("in May", [When(None, 5)]),
        ("since March 2024", [When(2024, 3)]),
        ("in March of 2024 and 2023 April", [When(2024, 3), When(2023, 4)]),
        ("Sept 3", [day(9, 3, None)]),
        ("on may 5, the 5th may party, from 5 to 5 may", [day(5, 5, None)] * 3),
        ("Server 2019 may crash", [When(2019)]),
        ("in 2023 and in August", [When(2023), When(None, 8)]),
        ("13/05/2024 or 05/13/2024", [day(5, 13), day(5, 13)]),
        ("5.3.2024, 5. 3. 2024", [day(3, 5), day(3, 5)]),
        ("between March and May 2024", [DateRange(When(2024, 3), When(2024, 5))]),
        ("between November and March 2024", [DateRange(When(2023, 11), When(2024, 3))]),
        ("from 3 to 7 May", [days((5, 3), (5, 7), None)]),
        ("from May 3 to 7 June", [days((5, 3), (6, 7), None)]),
        ("May 3-7, 2024; between 3 and 7 May 2024", [days((5, 3), (5, 7))] * 2),
        ("from 2024-03-01 to 2024-03-07", [days((3, 1), (3, 7))]),
        ("du 3 au 7 mai, del 3 al 7 de mayo", [days((5, 3), (5, 7), None)] * 2),
        ("Q3 2023", [DateRange(When(2023, 7), When(2023, 9))]),
        ("05/Mar/2024, [05/Mar/2024:10:12:30 +0100]", [day(3, 5)] * 2),
        ("in March '24, March $24", [When(None, 3)] * 1),
    ],
)
def test_dates_are_read_in_digits_and_with_english_months(text: str, expected: list[When]) -> None:
    assert list(dates(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("am 5. März 2024, im März, Ende Mai", [day(3, 5), When(None, 3), When(None, 5)]),
        ("le 1er mars 2024, en août", [day(3, 1), When(None, 8)]),
        ("en aou\u0302t", [When(None, 8)]),
        ("5 de marzo de 2024, en mayo", [day(3, 5), When(None, 5)]),
        ("5 maggio 2024, a maggio", [day(5, 5), When(None, 5)]),
        ("5 de março de 2024, em maio", [day(3, 5), When(None, 5)]),
        ("5 maart 2024, in mei", [day(3, 5), When(None, 5)]),
        ("5 marca 2024, w maju", [day(3, 5), When(None, 5)]),
        ("5 марта 2024 года, в мае", [day(3, 5), When(None, 5)]),
        ("5 Mart 2024, geçen mayıs", [day(3, 5), When(None, 5)]),
        ("2024年3月5日、3月", [day(3, 5), When(None, 3)]),
        ("在2024年3月", [When(2024, 3)]),
        ("2024년 3월 5일에, 3월", [day(3, 5), When(None, 3)]),
        ("２０２４年３月５日", [day(3, 5)]),
    ],
)
def test_dates_are_read_in_other_languages(text: str, expected: list[When]) -> None:
    assert list(dates(text)) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("yesterday|1 day ago|gestern|ayer|ieri|ontem|gisteren|wczoraj|вчера|dün|我昨天说了什么|昨日|어제", day(5, 15)),
        ("today|this morning|heute|aujourd'hui|сегодня|今天|오늘", day(5, 16)),
        ("the day before yesterday|vorgestern|前天", day(5, 14)),
        (
            "3 days ago|three days ago|on Monday|am Montag|el lunes|vor 3 Tagen|il y a 3 jours|hace tres días",
            day(5, 13),
        ),
        ("3 giorni fa|há 3 dias|3 dagen geleden|3 dni temu|3 дня назад|3 gün önce|3天前|3일 전", day(5, 13)),
        ("last Tuesday", day(5, 14)),
        ("last Thursday|on Thursday", day(5, 9)),
        ("last week|letzte Woche|la semaine dernière|la semana pasada|geçen hafta|上周|지난주", days((5, 6), (5, 12))),
        ("this week", days((5, 13), (5, 19))),
        ("two weeks ago|2 weeks ago|vor zwei Wochen|2 недели назад|2周前", days((4, 29), (5, 5))),
        ("in the past two weeks|the last 2 weeks|in den letzten zwei Wochen", days((5, 2), (5, 16))),
        ("the past week|in the last week|the last 7 days", days((5, 9), (5, 16))),
        ("a couple of days ago", days((5, 13), (5, 15))),
        ("since Friday|since last Friday|seit Freitag|since 10 May|since 2024-05-10", days((5, 10), (5, 16))),
        ("last weekend", days((5, 11), (5, 12))),
        ("last month|last April|letzten Monat|先月", When(2024, 4)),
        ("last May", When(2023, 5)),
        ("last year|a year ago|去年|작년|el año pasado", When(2023)),
        ("three months ago|vor drei Monaten", When(2024, 2)),
        ("on Tuesday, 5 March 2024", day(3, 5)),
        ("which day last week|what week last week", days((5, 6), (5, 12))),
        ("lundi dernier|el lunes pasado|lunedì scorso", day(5, 13)),
        ("the last 24 hours|30 minutes ago|a few hours ago|in the past hour", days((5, 15), (5, 16))),
        ("30 hours ago", days((5, 14), (5, 15))),
        ("a week ago|1 week ago|неделю назад|tydzień temu", days((5, 6), (5, 12))),
        ("1000 days ago", When(2021, 8, 20)),
        ("avant-hier|antes de ayer|antes de ontem|l'altro ieri|evvelsi gün|一昨日|おととい|그저께|이틀 전", day(5, 14)),
        ("大前天|三天前|我三天前说的|三日前|사흘 전|三天前做的前端", day(5, 13)),
        ("vorige week|afgelopen week|上个星期|上星期|지난 주에|지난주는|先週の月曜日", days((5, 6), (5, 12))),
        ("本周|今週|이번 주", days((5, 13), (5, 19))),
        ("两周前|两个星期前|二週間前|두 주 전|2주일 전|이주일 전", days((4, 29), (5, 5))),
        ("几天前|数日前|몇 일 전|a few days ago", days((5, 11), (5, 14))),
        ("vorige maand|上個月|지난 달", When(2024, 4)),
        ("三个月前|三ヶ月前|세 달 전|삼개월 전", When(2024, 2)),
        ("vorig jaar|l'année dernière|l'anno scorso|o ano passado|geçen sene|一年前|지난해", When(2023)),
        ("一昨年|おととし|재작년|两年前|이년 전", When(2022)),
        ("十二年前", When(2012)),
        (
            "March last year|in March of last year|last year in March|März letzten Jahres|letztes Jahr im März",
            When(2023, 3),
        ),
        ("mars de l'an dernier|marzo del año pasado|marzo dell'anno scorso|março do ano passado", When(2023, 3)),
        ("marca zeszłego roku|в марте прошлого года|maart vorig jaar|去年三月|昨年3月|작년 3월", When(2023, 3)),
        ("March 5th last year|on the 5th of March last year|去年三月五日", day(3, 5, 2023)),
        ("in March two years ago|March 2 years ago", When(2022, 3)),
        ("between March and May last year", DateRange(When(2023, 3), When(2023, 5))),
        ("since March last year", DateRange(When(2023, 3), day(5, 16))),
    ],
)
def test_relative_dates_are_counted_from_a_moment(texts: str, expected: When) -> None:
    for text in texts.split("|"):
        assert (text, list(dates(text, NOW))) == (text, [expected])


@pytest.mark.parametrize(
    "text",
    [
        "", "may I march on?", "this may be 5", "3 users may 5 times", "the sun and mar a jan", "1st of nothing",
        "version 1.2.3, v5.3 and 2024.3.5", "5.3", "at 10:30", "3/4 of it", "192.168.1.24", "31.13.2024",
        "/logs/2024/03/05/app.log", "src/2024/x.py", "$2000", "#2024", "port 8080, 12345 rows, 1,024 tokens",
        "32/13/2024", "30/02/2024", "life on mars", "was ist hier?", "the last one", "weeks", "last but not least",
        "the last tag", "this DAG run", "the last lat", "this mars mission", "the last mars rover",
        "999999999 days ago", "many years ago", "some hundred days ago", "why python 3 may fail", "el hermano de Marco",
        "week past due",
        "a 3 day trip", "on Mondays", "5 a day", "in the week", "3개월", "3个月", "三个月", "第三天前", "二三日前",
        "一天前端开发", "每三天前进", "지난 주문", "이번 주제", "지난 해결", "이 일 전에", "두 달", "3일 전체",
        "logs/05/Mar/2024/x", "5/Mad/2024",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_date_is_none(text: str) -> None:
    assert list(dates(text, NOW)) == []


def test_a_date_with_slashes_that_can_be_read_in_two_ways_is_doubtful() -> None:
    assert list(dates("03/05/2024")) == [When(2024, 3, 5, doubtful=True), When(2024, 5, 3, doubtful=True)]
    assert list(dates("05-05-2024")) == [When(2024, 5, 5)]


FORMS = ("{0:%Y-%m-%d}", "{0:%Y/%m/%d}", "{0.day}.{0.month}.{0.year}", "{0:%d.%m.%Y}", "{0.day} {1} {0.year}",
         "{1} {0.day}, {0.year}", "{0.year}年{0.month}月{0.day}日", "{0.year}년 {0.month}월 {0.day}일")  # fmt: skip


@settings(max_examples=60)
@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)), st.sampled_from(FORMS), st.sampled_from(sorted(MONTHS)))
def test_every_date_is_read_again_in_every_form(moment: date, form: str, name: str) -> None:
    moment = moment.replace(month=MONTHS[name].number, day=min(moment.day, 28))
    assert list(dates(f"what was said on {form.format(moment, name.title())}?", NOW)) == [When.of(moment)]


@settings(max_examples=40)
@given(st.dates(date(1971, 1, 1), date(2099, 12, 31)), st.integers(1, 99))
def test_relative_dates_agree_with_the_calendar(today: date, count: int) -> None:
    now = from_text(f"{today}T12:00:00Z")
    ordinal = today.toordinal()
    assert list(dates(f"{count} days ago", now)) == [When.of(date.fromordinal(ordinal - count))]
    (week,) = dates("last week", now)
    assert isinstance(week, DateRange)
    ((start, end),) = week.spans(0, 0)
    assert end - start == 7 * 86_400_000
    assert start % (7 * 86_400_000) == from_text("2024-05-13T00:00:00Z") % (7 * 86_400_000)  # a Monday
    assert 0 <= now - end < 7 * 86_400_000


@given(st.text(alphabet="0123456789-/.年월 JanuaryMyof st,.lastwekgodbn", max_size=60), st.sampled_from([None, 0, NOW]))
def test_any_text_has_dates_that_mean_spans(text: str, now: int | None) -> None:
    for when in dates(text, now):
        assert all(start < end for start, end in when.spans(2020, 2022))


def test_a_moment_at_the_beginning_of_time_has_no_yesterday() -> None:
    for text in ("yesterday", "last year", "last month", "3 weeks ago", "99 years ago"):
        assert list(dates(text, from_text("0001-01-01T00:00:00Z"))) == []


def test_a_text_that_is_one_date_is_read_as_the_last_one() -> None:
    assert only_date("last week", NOW) == days((5, 6), (5, 12))
    assert only_date("March", NOW) == When(2024, 3)
    assert only_date("June", NOW) == When(2023, 6)
    assert only_date("Monday", NOW) == day(5, 13)
    assert only_date("29 February", from_text("2023-05-16T15:00:00Z")) == When(2020, 2, 29)
    assert only_date("28 December to 3 January", NOW) == DateRange(day(12, 28, 2023), day(1, 3))
    for form in ("since 10 May", "from 10 to 12 May", "between 10 and 12 May", "the last 6 days"):
        found = only_date(form, NOW)
        assert (form, isinstance(found, DateRange) and found.first) == (form, day(5, 10))
    for form in ("the day before yesterday", "on Tuesday", "le 14 mai", "il y a 2 jours"):
        assert (form, only_date(form, NOW)) == (form, day(5, 14))
    assert only_date("5 марта 2024 года", NOW) == day(3, 5)
    unread = (
        "",
        "03/05/2024",
        "the last week or so",
        "soon",
        "2023 2024",
        "March '24",
        "5/3/Mar",
        "v5 March",
        "$5 March",
    )
    assert [only_date(text, NOW) for text in unread] == [None] * len(unread)


def test_a_long_number_is_read_once() -> None:
    """Its time was the square of its length, 8 seconds for 5,000 digits; a fraction with so many was an error."""
    for text in (
        "9" * 90_000 + "x",
        "9" * 90_000 + ".1",
        "9" * 90_000 + "/5",
        "٣" * 9_000 + ":1",
        "x1" * 9_000,
        "1." * 30_000,
        "1-" * 9_000,
        "12/" * 20_000,
        "年1" * 20_000,
    ):
        assert list(dates(text, NOW)) == []
