"""Takes pictures of every view of `tt serve`, light and dark, for the documentation: `python -m tools.screenshots`.

Data, clock and chance are fixed, so that the same pages give the same pictures on one machine; a picture stays as it is
where only the smoothing of edges differs. Other fonts and another Chromium give others.
"""

import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.browser.addresses import address_of
from tests.browser.memories import at_rest, demo
from tests.browser.servers import Server
from tests.browser.visits import Visit, chromium
from tools.imports import PROJECT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

IMAGES: Final = PROJECT / "docs" / "images"
LARGEST: Final = 150_000  # bytes of a picture
_COLOURS: Final = 256
_SMOOTHED: Final = 16  # of 255: the most by which the colour of an edge differs


class Picture(NamedTuple):
    """A view, and the size of the window."""

    view: str
    width: int = 1280
    height: int = 800
    click: str = ""  # the name of a button
    wait: str = ""  # what is there when the view is complete


PICTURES: Final = {
    "home": Picture("home"),
    "sessions": Picture("sessions"),
    "session": Picture("slice", wait=".slice-hashes"),
    "compaction": Picture("compaction", click="what it lost"),
    "context": Picture("asked"),
    "replayed": Picture("recorded"),
    "run": Picture("run"),
    "snapshot": Picture("snapshot"),
    "library": Picture("found"),
    "file": Picture("file markdown"),
    "log": Picture("file jsonl"),
    "links": Picture("links"),
    "proof": Picture("proof", click="verify now", wait="text=VERIFIED"),
    "why": Picture("why"),
    "phone": Picture("session", 390, 844),
}


def main() -> int:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "shop"  # the pages show the name of the folder
        root.mkdir()
        shown = demo(root)
        with Server(lambda: at_rest(root)) as server, chromium() as browser:
            for name, picture in PICTURES.items():
                for colours in ("light", "dark"):
                    path = IMAGES / f"serve-{name}-{colours}.png"
                    data = _taken(browser, server.url + address_of(picture.view, shown), picture, colours == "dark")
                    print(f"{path.name}: {len(data) / 1000:.0f} KB")
                    if len(data) > LARGEST:
                        raise SystemExit(f"{path.name} is larger than {LARGEST} bytes")
                    if not _is_same(path, data):
                        path.write_bytes(data)
    return 0


def _is_same(path: Path, data: bytes) -> bool:
    """Returns whether a picture is there already, but for the smoothing of edges."""
    from PIL import Image, ImageChops

    if not path.exists():
        return False
    old, new = (Image.open(io.BytesIO(each)).convert("RGB") for each in (path.read_bytes(), data))
    levels: Any = ImageChops.difference(old, new).getextrema() if old.size == new.size else ((0, 255),)
    return all(high <= _SMOOTHED for _, high in levels)


def _taken(browser: "Browser", address: str, picture: Picture, dark: bool) -> bytes:
    from PIL import Image

    visit = Visit(browser, address, dark=dark, width=picture.width, height=picture.height)
    if picture.click:
        visit.page.get_by_role("button", name=picture.click).click()
        visit.page.mouse.move(0, 0)
    if picture.wait:
        visit.page.wait_for_selector(picture.wait)
    visit.settle()
    visit.run("() => document.querySelectorAll('[data-live]').forEach((each) => { each.style.visibility = 'hidden'; })")
    data = visit.page.screenshot(animations="disabled", caret="hide")
    visit.close()
    if visit.troubles:
        raise SystemExit("\n".join(visit.troubles))
    image = Image.open(io.BytesIO(data)).convert("RGB").quantize(_COLOURS, kmeans=1, dither=Image.Dither.NONE)
    small = io.BytesIO()
    image.save(small, "PNG", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    sys.exit(main())
