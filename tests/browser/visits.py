"""A browser, and visits of its pages that write down everything that should not happen."""

import os
import shutil
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request

# The shell is Chromium without its windows, which take a third of the time.
PROGRAMS: Final = (
    "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome",
)  # fmt: skip
MISSING: Final = (
    "Chromium is missing: `apt-get install chromium-headless-shell` installs it, or CHROMIUM names another one"
)
SECONDS: Final = 30
# A round of a page: frames in which it draws, and the pauses after which it asks for what it draws next. All of it is
# time of the page itself, so that a busy machine makes it longer. Returns whether a part says that it still reads.
_ROUND: Final = """() => new Promise((done) => {
    const pause = (milliseconds) => new Promise((over) => setTimeout(over, milliseconds));
    const frame = () => new Promise((over) => requestAnimationFrame(over));
    (async () => {
        for (const milliseconds of [0, 30, 0]) { await frame(); await pause(milliseconds); }
        done(document.querySelector("main .busy, main [aria-busy=true]") !== null);
    })();
})"""
_STREAM: Final = "/api/v1/changes"  # it is open as long as the page
_BLANK: Final = "about:blank"  # a page that was left
# Left by the page itself, it keeps its process; the address comes after the answer, which would be lost with the view.
_GO: Final = """(address) => {
    history.pushState({ y: 0 }, "", address);
    dispatchEvent(new PopStateEvent("popstate"));
}"""
_LEAVE: Final = "(blank) => { setTimeout(() => location.replace(blank)); }"


@contextmanager
def chromium() -> "Iterator[Browser]":
    """Starts Chromium: that of $CHROMIUM, else the system's own."""
    from playwright.sync_api import sync_playwright

    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise SystemExit(MISSING)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # root has no sandbox
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=[*arguments, "--font-render-hinting=none"])
        _new_context(browser)  # the first one is shared
        yield browser
        browser.close()


def _new_context(browser: "Browser") -> "BrowserContext":
    made = browser.new_context(
        locale="en-GB", timezone_id="UTC", permissions=["clipboard-read", "clipboard-write"], reduced_motion="reduce"
    )
    made.set_default_timeout(1000 * SECONDS)
    return made


def _page_of(context: "BrowserContext") -> "Page":
    """Returns a page that was left, or else a new one, which costs a window and a process: more than most views.

    The page that was left is blank: scripts, streams and requests of its view have ended.
    """
    left = (page for page in context.pages if page.url == _BLANK)
    return next(left, None) or context.new_page()


class Visit:
    """A page that was opened. `troubles` are errors, dialogs, and requests that leave the server.

    Pages share what a browser keeps, such as the files of the pages; one that is `alone` has nothing of the others.
    """

    def __init__(
        self,
        browser: "Browser",
        address: str,
        *,
        dark: bool = False,
        width: int = 1280,
        height: int = 800,
        alone: bool = False,
    ) -> None:
        self._troubles: list[str] = []
        self.requests: list[str] = []
        self._open: set[Request] = set()
        self.allowed: tuple[str, ...] = ()  # beginnings of troubles that a test wants
        self._host = urlsplit(address).netloc
        self._context = _new_context(browser) if alone else browser.contexts[0]
        self._alone = alone
        self.page = _page_of(self._context)
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(
            media="screen",
            color_scheme="dark" if dark else "light",
            contrast="no-preference",
            forced_colors="none",
            reduced_motion="reduce",
        )
        self._heard: dict[Any, Callable[[Any], None]] = {
            "popup": lambda page: self._trouble(f"another page was opened: {page.url}"),
            "console": self._said,
            "pageerror": lambda error: self._trouble(f"error: {error}"),
            "request": self._asked,
            "requestfinished": self._answered,
            "requestfailed": self._answered,
            "dialog": self._dialog,
            "crash": lambda page: self._trouble(f"the page crashed: {page.url}"),
        }
        for event, hear in self._heard.items():
            self.page.on(event, hear)
        self.page.goto(address)
        self.settle()

    def go(self, address: str) -> None:
        """Goes to another view as a link does: the page stays, which is several times quicker than a new one."""
        self.page.evaluate(_GO, address)
        self.settle()

    def settle(self) -> None:
        """Waits until the view is there, all that it asked for has come, and nothing of it says that it still reads."""
        self.page.bring_to_front()  # one behind another draws a frame in a second
        self.page.wait_for_selector("main h1")
        until = monotonic() + SECONDS
        while True:
            asked = len(self.requests)
            reads = self.page.evaluate(_ROUND)
            if not (reads or self._open or len(self.requests) > asked):
                return
            assert monotonic() < until, (self.page.url, [each.url for each in self._open])

    @property
    def text(self) -> str:
        """What the view says."""
        return str(self.page.inner_text("main"))

    @property
    def address(self) -> str:
        """The path and the query that are shown."""
        place = urlsplit(str(self.page.url))
        return place.path + (f"?{place.query}" if place.query else "")

    @property
    def overflow(self) -> int:
        """How many pixels the page is wider than the window."""
        found: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return found

    def run(self, script: str, *arguments: Any) -> Any:
        return self.page.evaluate(script, *arguments)

    def close(self) -> None:
        """Leaves the page, which another visit may use then. May be called twice."""
        heard, self._heard = self._heard, {}
        if self._alone:
            self._context.close()
        elif heard and not self.page.is_closed():
            self.page.evaluate(_LEAVE, _BLANK)
            self.page.wait_for_url(_BLANK)
            for event, hear in heard.items():
                self.page.remove_listener(event, hear)

    @property
    def troubles(self) -> list[str]:
        return [each for each in self._troubles if not each.startswith(self.allowed)]

    def _trouble(self, what: str) -> None:
        self._troubles.append(what)

    def _said(self, message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning"):
            self._trouble(f"console: {message.text}")

    def _asked(self, request: "Request") -> None:
        self.requests.append(request.url)
        place = urlsplit(request.url)
        if place.path != _STREAM:
            self._open.add(request)
        if place.scheme != "data" and place.netloc != self._host:
            self._trouble(f"another host: {request.url}")
        elif place.scheme == "http" and not (
            request.is_navigation_request() or place.path.startswith(("/api/v1/", "/static/"))
        ):
            self._trouble(f"no address of ours: {request.url}")

    def _answered(self, request: "Request") -> None:
        self._open.discard(request)

    def _dialog(self, dialog: "Dialog") -> None:
        self._trouble(f"dialog: {dialog.message}")
        dialog.dismiss()
