"""The pages in one file: which forms of modules are read, and that nothing in a value leaves its place."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.web import standalone
from slicebase.web.pages import page_files
from slicebase.web.standalone import in_html, joined_modules, standalone_page

IMPORTS = json.loads(
    re.findall(r'<script type="importmap">(.*?)</script>', page_files()["index.html"].data.decode())[0]
)["imports"]
HOSTILE = "</script><script>alert(1)</script><!-- <script> ]]> \u2028 \u2029 & ' \" \\ \0"


class Elements(HTMLParser):
    """The elements of a page as a browser sees them, with the texts of scripts and styles."""

    def __init__(self, page: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[int, str] = {}
        self._open = False
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open = True

    def handle_endtag(self, tag: str) -> None:
        self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[len(self.found) - 1] = self.texts.get(len(self.found) - 1, "") + data

    def text_of(self, tag: str, **attributes: str) -> str:
        for number, (name, found) in enumerate(self.found):
            if name == tag and attributes.items() <= found.items():
                return self.texts.get(number, "")
        raise AssertionError(tag)


def page_of(value: object, title: str = "Session") -> Elements:
    return Elements(standalone_page({"address": "/", "time": "", "notes": [], "answers": {"/a": value}}, title))


def test_a_page_has_all_in_it_and_its_policy_allows_only_that() -> None:
    page = page_of({"a": 1})
    assert [
        given for tag, given in page.found if "src" in given or str(given.get("href", "data:"))[:5] != "data:"
    ] == []
    policy = next(given["content"] or "" for _, given in page.found if given.get("http-equiv"))
    for tag, name in (("script", "module"), ("style", "")):
        text = page.text_of(tag, **({"type": name} if name else {}))
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy
    assert page_files()["style.css"].data.decode() in page.text_of("style")


def test_every_module_of_the_pages_can_be_joined() -> None:
    """Also those that no view imports yet."""
    modules = [f"slicebase/{path}" for path in page_files() if path.endswith(".js")]
    names = [*modules, *(name for name in IMPORTS if not name.endswith("/"))]
    for name in names:
        standalone._path(name, IMPORTS)
    joined = joined_modules(IMPORTS)
    assert not re.search(r"^(import|export)\b", joined, re.MULTILINE)
    assert "sourceMappingURL" not in joined
    assert len(re.findall(r"^const \$module\d+ = ", joined, re.MULTILINE)) == len(set(names))


@given(st.text() | st.sampled_from([HOSTILE, HOSTILE * 3]))
def test_no_value_leaves_its_element_and_all_come_back(text: str) -> None:
    page = page_of({text: [text]}, title=text)
    assert json.loads(page.text_of("script", id="answers"))["answers"] == {"/a": {text: [text]}}
    assert [tag for tag, _ in page.found].count("script") == 2


FORMS = {
    "names": ('import { a, b as c } from "m";', "export const a = 1; ", "const { a: a, b: c } = $module0;"),
    "several lines": ('import {\n  a,\n  b,\n} from "m";', "", "const { a: a, b: b } = $module0;"),
    "default": ('import it from "m";', "", "const { default: it } = $module0;"),
    "all": ('import * as all from "m";', "", "const all = $module0;"),
    "minified": ('import{a as b}from"m";var c=b;export{c as default,c as d};', "", "const { a: b } = $module0;"),
}


def joined(monkeypatch: pytest.MonkeyPatch, app: str, module: str = "export const a = 1;\n") -> str:
    files = {"app.js": app, "m.js": module}
    made = {name: page_files()["app.js"]._replace(data=text.encode()) for name, text in files.items()}
    monkeypatch.setattr(standalone, "page_files", lambda: made)
    return joined_modules({"slicebase/": "/static/", "m": "/static/m.js"})


@pytest.mark.parametrize("form", FORMS)
def test_the_forms_of_imports_are_read(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    source, _, expected = FORMS[form]
    assert expected in joined(monkeypatch, source)


def test_the_forms_of_exports_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "export const a = 1;\nexport async function b() {}\nexport class C {}\nfunction d() {}\n"
    text = joined(monkeypatch, 'import { a } from "m";\n', module)
    assert "return { a: a, b: b, C: C };" in text
    assert "return { a: x, default: y };" in joined(
        monkeypatch, 'import "m";', "var x=1,y=2;export{x as a,y as default};"
    )
    assert "return { default: $default };" in joined(monkeypatch, 'import "m";', "var t=1;export default function(){}")


@pytest.mark.parametrize(
    "source",
    [
        'import { a } from "./m.js";', 'import { a } from "other";', 'export * from "m";', "export let a = 1;",
        "export default 3;", 'import "slicebase/app.js";', "export default function(){};export default function(){}",
        "import a, { b } from 'm';", '  export const a = 1;', "const a = '\\</script>';",
    ],
)  # fmt: skip
def test_every_other_form_is_refused(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """It would be a page that shows nothing."""
    with pytest.raises(SlicebaseError) as caught:
        in_html(joined(monkeypatch, source))
    assert caught.value.code == "server-failed"


def test_a_script_neither_ends_its_element_nor_begins_a_comment() -> None:
    assert (
        in_html("a = /<!--x/; b = '</SCRIPT>'; c = '<script>'") == r"a = /\x3c!--x/; b = '\x3c/SCRIPT>'; c = '<script>'"
    )
