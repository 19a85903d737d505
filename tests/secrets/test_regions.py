"""Private keys over many lines, and private parts of a text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.secrets.redact import private_only, redact

BODY = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"] * 3)
BEGIN, END = "-----BEGIN {}PRIVATE" + " KEY{}-----", "-----END {}PRIVATE" + " KEY{}-----"


@pytest.mark.parametrize(
    ("kind", "block"), [("", ""), ("RSA ", ""), ("OPENSSH ", ""), ("ENCRYPTED ", ""), ("PGP ", " BLOCK")]
)
@pytest.mark.parametrize("times", [1, 2000])
def test_a_private_key_of_any_length_is_replaced(kind: str, block: str, times: int) -> None:
    text = f"a\n{BEGIN.format(kind, block)}\n{BODY * times}\n{END.format(kind, block)}\nb"
    assert redact(text).text == f"a\n{BEGIN.format(kind, block)}[redacted:private-key]{END.format(kind, block)}\nb"


def test_a_private_key_in_json_keeps_the_json() -> None:
    escaped = BODY.replace("\n", "\\n")
    text = f'{{"key": "{BEGIN.format("", "")}\\n{escaped}\\n{END.format("", "")}\\n", "n": 1}}'
    found = redact(text)
    assert found.text == f'{{"key": "{BEGIN.format("", "")}[redacted:private-key]{END.format("", "")}\\n", "n": 1}}'


def test_a_private_key_that_was_cut_off_is_replaced() -> None:
    assert redact(f'x = "{BEGIN.format("RSA ", "")}\n{BODY[:90]}", 1').text.endswith('-----[redacted:private-key]", 1')


@pytest.mark.parametrize("line", ["\n", "\r\n", "\\n"])
def test_the_private_keys_of_other_formats_are_replaced(line: str) -> None:
    lines = line.join([BODY[:64]] * 3)
    putty = f"PuTTY-User-Key-File-3: ssh-ed25519{line}Private-Lines: 3{line}{lines}{line}Private-MAC: 1"
    assert redact(putty).text.endswith(f"Private-Lines: 3[redacted:private-key]{line}Private-MAC: 1")
    kept = f'---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----{line}Comment: "x"'
    assert redact(f"{kept}{line}{lines}{line}---- END").text == f"{kept}[redacted:private-key]{line}---- END"


def test_a_placeholder_of_a_private_key_is_kept() -> None:
    text = f"{BEGIN.format('RSA ', '')}\n{'X' * 60}\n{'X' * 60}\n{END.format('RSA ', '')}\n"
    assert redact(text).text is text


def test_a_certificate_and_a_mention_of_a_key_are_kept() -> None:
    text = f"-----BEGIN CERTIFICATE-----\n{BODY}\n-----END CERTIFICATE-----\n{BEGIN.format('', '')}\n...\n"
    assert redact(text).text is text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <private>b</private> c", "a [redacted:private] c"),
        ("a <PRIVATE>\nb\n</Private> c", "a [redacted:private] c"),
        ("a <private>b <private>c</private> d</private> e", "a [redacted:private] e"),
        ("a <private>b", "a [redacted:private]"),
        ("between `<private>` and `</private>` stands c", "between `<private>` and `</private>` stands c"),
        ("a <private>b <private>c</private> d", "a [redacted:private]"),
        ("<private>a</private><private>b</private>", "[redacted:private][redacted:private]"),
        ('<private reason="x" >a</private >b', "[redacted:private]b"),
        (r"a \u003cprivate\u003eb\u003c/private\u003e c", "a [redacted:private] c"),
        ("a </private> b", "a </private> b"),
        ("a <private\n>b\n```\n<private>c\n```\n</private></private> d", "a [redacted:private] d"),
        ("a<private>b", "a[redacted:private]"),
        (r'{"a": "<private\n x=\"y\"\n>b</private> c"}', '{"a": "[redacted:private] c"}'),
        (r"a <private\\n>b", "a [redacted:private]"),
        ("a <PRIVATE>b", "a [redacted:private]"),
        ("a\n <Private>b", "a\n [redacted:private]"),
        ("a <private reason='x' n=1>b", "a [redacted:private]"),
        ("x<Private>b</Private> c", "x[redacted:private] c"),
        ("a <private thing>b</private> c", "a [redacted:private] c"),
        ("a < private>b</ private > c", "a [redacted:private] c"),
        ("a &lt;private&gt;b&lt;/private&gt; c", "a [redacted:private] c"),
        ("a %3Cprivate%3Eb%3C/private%3E c", "a [redacted:private] c"),
        ("a <private>b List<Private> c</private> d", "a [redacted:private] d"),
        ("a <private>b x<Private>c</Private> d</private> e", "a [redacted:private] e"),
        ("List<Private> a; <private>b</private> c", "List<Private> a; [redacted:private] c"),
        ("<code>&lt;private&gt;</code> a <code>&lt;/private&gt;</code>",) * 2,
        ("<Private>True</Private> a <private>b</private>", "<Private>True</Private> a [redacted:private]"),
        ("a <privates> b", "a <privates> b"),
    ],
)
def test_what_is_private_is_removed_with_its_tags(text: str, kept: str) -> None:
    found = redact(text)
    assert found.text == kept
    assert found.counts.get("private", 0) == kept.count("[redacted:private]")


@pytest.mark.parametrize(
    "code",
    [
        "List<Private> items = new();",
        "Unicode: C<Private Use> is a category",
        "template <private T> class A;",
        "struct A : B<Private> {};",
        "set<PRIVATE>()",
        "Vec::<Private>::new()",
        "<Private>True</Private>",
        "<Private>False</Private>",
        "let a = <Private>b;",
        'name = "<Private>b"',
        "return <Private />;",
        "the text &lt;private&gt; begins it",
    ],
)
@settings(max_examples=20)
@given(before=st.sampled_from(["", "a ", "a\n    "]), after=st.text("ab <>/;\n", max_size=20))
def test_code_that_looks_like_a_tag_is_kept_with_what_follows(code: str, before: str, after: str) -> None:
    text = f"{before}{code} {after}"
    assert redact(text).text is text


OPENING = ["<private>", "<PRIVATE>", '<private a="b">', "<private\n>", "x<private>", "x<Private>", "\n<Private>"]
OPENING += ["&lt;private&gt;", "< private>", "\\u003cprivate\\u003e", "<private T>"]
CLOSING = ["</private>", "</PRIVATE>", "</private >", "\\u003c/private\\u003e", "&lt;/private&gt;"]
AROUND = st.text("ab <>/;\n`", max_size=12)


@settings(max_examples=300)
@given(
    st.sampled_from(OPENING),
    st.sampled_from(CLOSING),
    AROUND,
    AROUND,
    AROUND,
    st.sampled_from(["", "List<Private>", "<private>x</private>", "<Private>True</Private>", "f<private T>x"]),
)
def test_what_stands_between_the_tags_is_never_kept(
    opening: str, closing: str, before: str, middle: str, after: str, inner: str
) -> None:
    text = f"{before} {opening} {middle} KEPT1 {inner} KEPT2 {closing} {after}"
    assert "KEPT" not in redact(text).text
    assert "KEPT" not in redact(text, private_only()).text


def test_a_secret_in_a_private_part_is_not_counted_on_its_own() -> None:
    assert redact(f"<private>{BEGIN.format('', '')}\n{BODY}\n{END.format('', '')}</private>").counts == {"private": 1}
