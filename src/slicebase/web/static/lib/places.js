// Where a page was scrolled to: the history keeps it, and the way back leads there, as soon as the content has come.

const REST = 150; // milliseconds after which a page that was scrolled rests
const PATIENCE = 5000; // milliseconds in which content may come
const ACTS = ["wheel", "touchstart", "pointerdown", "keydown"]; // who acts is not led back

let found = () => {}; // ends the search for a place, if there is one
let seeks = false;

/** Keeps the place in the entry of the history that is shown. */
export function keepPlace() {
  if (!seeks) window.history.replaceState({ y: window.scrollY }, "");
}

/** Scrolls to a place whenever content comes: the view asks for it again, and lists read on while their end is in sight. */
function seek(y) {
  found();
  seeks = true;
  const scroll = () => window.scrollTo(0, y);
  const grows = new ResizeObserver(scroll);
  grows.observe(document.body);
  const late = setTimeout(() => found(), PATIENCE);
  found = () => {
    clearTimeout(late);
    grows.disconnect();
    for (const each of ACTS) window.removeEventListener(each, found);
    found = () => {};
    seeks = false;
  };
  for (const each of ACTS) window.addEventListener(each, found, { passive: true });
  scroll();
}

/** Begins to keep places, and looks for the one of a page that was loaded again. */
export function watchPlaces() {
  let waiting = 0;
  const back = () => {
    clearTimeout(waiting);
    const { state } = window.history;
    if (state) seek(state.y); // else a link led to a place in the page, and the browser to it
  };
  window.history.scrollRestoration = "manual"; // the browser looks once, before the content is there
  window.addEventListener("popstate", back);
  window.addEventListener("scroll", () => {
    clearTimeout(waiting);
    waiting = setTimeout(keepPlace, REST);
  }, { passive: true });
  if (window.history.state) back();
  else keepPlace();
}

/** Ends the search for a place: another address is shown. */
export const leavePlace = () => found();
