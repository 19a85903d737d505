"""One page that needs no server: the pages' modules, styles and answers of the API in one HTML file.

The modules become one inline script, so that its digest can stand in the policy of the page: nothing else runs, and
nothing is loaded, from the web or from the disk. Each module is a function that returns what it exports. This is no
bundler: it reads the few forms of `import` and `export` that the pages use, and refuses every other form. A test reads
all modules of the pages with it.
"""

import base64
import hashlib
import html
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from slicebase.errors import SlicebaseError
from slicebase.web.pages import page_files

_START: Final = "slicebase/app.js"
_NAMES: Final = r"\{(?P<names>[^{}]*)\}"
_IMPORT: Final = re.compile(
    rf"^import(?:\s*(?:{_NAMES}|(?P<default>\s[\w$]+)|\*\s*as\s+(?P<all>[\w$]+))\s*from)?\s*\"(?P<place>[^\"]+)\";",
    re.MULTILINE,
)
_EXPORT: Final = re.compile(r"^export (?=(?:async function|function|class|const) (?P<name>[\w$]+))", re.MULTILINE)
_EXPORTED_AT_THE_END: Final = re.compile(rf"(?:^|(?<=[;}}]))export\s*{_NAMES};?\s*\Z", re.MULTILINE)
_DEFAULT: Final = re.compile(r"(?:^|(?<=[;}]))export default (?=function\()", re.MULTILINE)
_LEFT: Final = re.compile(r"^\s*(?:import|export)\b(?!\s*[:=.)])", re.MULTILINE)
_SOURCE_MAP: Final = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)
_STYLE: Final = re.compile(r'<link rel="stylesheet" href="/static/([^"]+)">')
_ICON: Final = re.compile(r'(<link rel="icon" href=")/static/([^"]+)"')
_SCRIPTS: Final = re.compile(r'<script type="importmap">(.*?)</script>\s*<script type="module" src="[^"]+"></script>')
_ESCAPED: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def standalone_page(values: Mapping[str, Any], title: str) -> bytes:
    """Returns a page that shows what its values hold: its address, and the answers that its view asks for."""
    page = page_files()["index.html"].data.decode()
    style = "\n".join(_file(path) for path in _STYLE.findall(page))
    imports = _SCRIPTS.search(page)
    if imports is None or "</style" in style.lower():
        raise _unknown("index.html")
    script = in_html(joined_modules(msgspec.json.decode(imports[1], type=dict[str, dict[str, str]])["imports"]))
    page = page.replace("<title>Slicebase</title>", f"<title>{html.escape(title)} · Slicebase</title>")
    page = re.sub(rf"\s*{_STYLE.pattern}", "", page)
    page = _ICON.sub(lambda found: f'{found[1]}{_as_data(found[2])}"', page)
    answers = f'<script type="application/json" id="answers">{_in_html(values)}</script>'
    parts = f'<style>{style}</style>\n    {answers}\n    <script type="module">{script}</script>'
    page = _SCRIPTS.sub(lambda _: parts, page)
    strict = f'<meta http-equiv="Content-Security-Policy" content="{_policy(script, style)}">'
    return page.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n    {strict}').encode()


def _policy(script: str, style: str) -> str:
    """Returns the policy of the page: this script and this style, and nothing from anywhere."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "connect-src 'none'; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _file(path: str) -> str:
    return page_files()[path].data.decode()


def _as_data(path: str) -> str:
    file = page_files()[path]
    return f"data:{file.media_type};base64,{base64.b64encode(file.data).decode()}"


def _in_html(values: Mapping[str, Any]) -> str:
    """Returns values as JSON in which nothing ends the script element or begins a comment."""
    text = msgspec.json.encode(values).decode()
    return re.sub("[<>&\u2028\u2029]", lambda found: _ESCAPED[found[0]], text)


def in_html(script: str) -> str:
    """Returns a script in which no text ends the script element or begins a comment of HTML.

    These stand in texts and regular expressions only, where `<` has a second form.
    """
    if re.search(r"\\<(?:!--|/script)", script, re.IGNORECASE):
        raise _unknown("an escaped tag")
    return re.sub(r"<(?=!--|/script)", r"\\x3c", script, flags=re.IGNORECASE)


# Modules


def joined_modules(imports: Mapping[str, str]) -> str:
    """Returns all modules that the first one needs as one script, each after those that it imports."""
    numbers: dict[str, int] = {}
    pieces: list[str] = []

    def add(name: str, above: tuple[str, ...] = ()) -> None:
        if name in above:
            raise _unknown(f"{' → '.join(above)} → {name}, which imports itself,")
        if name in numbers:
            return
        text = _SOURCE_MAP.sub("", _file(_path(name, imports)))
        for needed in (found["place"] for found in _IMPORT.finditer(text)):
            add(needed, (*above, name))
        numbers[name] = len(numbers)
        pieces.append(f"const $module{numbers[name]} = (() => {{\n{_as_function(name, text, numbers)}}})();\n")

    add(_START)
    return "".join(pieces)


def _path(name: str, imports: Mapping[str, str]) -> str:
    """Returns the file of a module, below the folder of the pages."""
    fitting = [each for each in imports if each == name or (each.endswith("/") and name.startswith(each))]
    prefix = max(fitting, default="")
    path = (imports.get(prefix, "") + name[len(prefix) :]).removeprefix("/static/")
    if not prefix or path not in page_files():
        raise _unknown(name)
    return path


def _as_function(name: str, text: str, numbers: Mapping[str, int]) -> str:
    """Returns the statements of a module, with what it imports as constants, and what it exports at the end."""
    exports = [f"{found['name']}: {found['name']}" for found in _EXPORT.finditer(text)]
    body = _EXPORT.sub("", _IMPORT.sub(lambda found: _constants(found, numbers), text))
    if at_the_end := _EXPORTED_AT_THE_END.search(body):
        exports += [f"{outer}: {inner}" for inner, outer in _pairs(at_the_end["names"])]
        body = body[: at_the_end.start()]
    body, defaults = _DEFAULT.subn("const $default = ", body)
    if defaults > 1 or _LEFT.search(body):
        raise _unknown(name)
    exports += ["default: $default"] * defaults
    return f"{body.strip()}\nreturn {{ {', '.join(exports)} }};\n"


def _constants(found: re.Match[str], numbers: Mapping[str, int]) -> str:
    module = f"$module{numbers[found['place']]}"
    if found["names"] is not None:
        return f"const {{ {', '.join(f'{outer}: {inner}' for outer, inner in _pairs(found['names']))} }} = {module};"
    if found["default"]:
        return f"const {{ default: {found['default'].strip()} }} = {module};"
    return f"const {found['all']} = {module};" if found["all"] else ""


def _pairs(names: str) -> Iterator[tuple[str, str]]:
    """Yields the names of a list such as `a, b as c` as pairs, each with its new name."""
    for each in filter(None, (part.strip() for part in names.split(","))):
        first, _, second = each.partition(" as ")
        yield first.strip(), (second or first).strip()


def _unknown(what: str) -> SlicebaseError:
    return SlicebaseError("server-failed", f"the pages cannot be joined: {what} has a form that is not known")
