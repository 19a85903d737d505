// The application: the frame of every page, and the view that the address names.
import { render } from "preact";
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from "preact/hooks";
import { exported, useBuilding, useFreshness } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { lettersAreOn, say, switchLetters, useKeys, useSaid } from "slicebase/lib/keyboard.js";
import { watchPlaces } from "slicebase/lib/places.js";
import { go, Link, useRoute } from "slicebase/lib/router.js";
import { ProblemBox } from "slicebase/lib/ui.js";
import { VIEWS } from "slicebase/views/table.js";

const NAVIGATION = [
  ["/", "Home", "h"],
  ["/sessions", "Sessions", "s"],
  ["/context", "Context", "c"],
  ["/runs", "Runs", "r"],
  ["/library", "Library", "l"],
  ["/proof", "Proof", "p"],
];

function theme() {
  try {
    return window.localStorage.getItem("theme") || "";
  } catch {
    return ""; // a browser that keeps nothing
  }
}

function useTheme() {
  const [chosen, setChosen] = useState(theme());
  useEffect(() => {
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
  }, [chosen]);
  useEffect(() => { // chosen in another page
    const heard = (event) => event.key === "theme" && setChosen(event.newValue || "");
    window.addEventListener("storage", heard);
    return () => window.removeEventListener("storage", heard);
  }, []);
  const next = () => setChosen((before) => { // kept here only: what another page chose must not be written again
    const after = NEXT_THEME[before];
    try {
      window.localStorage.setItem("theme", after);
    } catch {
      // a browser that keeps nothing
    }
    return after;
  });
  return [chosen, next];
}

const NEXT_THEME = { __proto__: null, "": "light", light: "dark", dark: "" };

/** Keys: `/` searches, `g` and a letter go to a view, Escape leaves a field, `?` lists the keys of the view. An exported page has no other view. */
function useViewKeys(show) {
  const before = useRef("");
  useKeys((event) => {
    const view = NAVIGATION.find(([, , key]) => key === event.key);
    if (before.current === "g" && view && !exported) {
      show(false);
      go(view[0]);
    } else if (event.key === "?") show((old) => !old);
    else if (event.key === "/" && !exported) {
      show(false);
      const box = document.querySelector("main input[type=search]");
      if (box) box.focus();
      else go("/library");
      event.preventDefault();
    }
    before.current = event.key;
  });
}

/** The keys of a view. It takes the focus, Escape closes it, and the focus returns. */
function Keys({ close, more = [] }) {
  const box = useRef(null);
  const [letters, setLetters] = useState(lettersAreOn());
  useLayoutEffect(() => {
    const dialog = box.current;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  const change = (event) => {
    switchLetters(event.currentTarget.checked);
    setLetters(event.currentTarget.checked);
  };
  const elsewhere = exported ? [] : [["/", "search"], ...NAVIGATION.map(([, name, key]) => [`g ${key}`, `go to ${name}`])];
  const rows = [...elsewhere, ...more, ["Esc", "leave a field, close what is open"], ["?", "these keys"]];
  return html`<dialog class="keys" aria-label="Keys" ref=${box} onClose=${close}>
    <header><h2>Keys</h2><button type="button" class="small" onClick=${close}>close</button></header>
    <dl>${rows.map(([key, what]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl>
    <label><input type="checkbox" checked=${letters} onChange=${change} /> keys of one character</label>
  </dialog>`;
}

/** Begins at the content of a view that another one led to, and says its title. */
function useArrival(path, title) {
  const first = useRef(path);
  useEffect(() => {
    if (first.current === path) return;
    first.current = "";
    const main = document.getElementById("main");
    if (!main.querySelector("[autofocus]")) main.focus({ preventScroll: true });
    say(title);
  }, [path]);
}

/** A view. One that fails says so, and the rest of the page stays. */
function Shown({ view, route }) {
  const [error, again] = useErrorBoundary((found) => console.error(found));
  if (error) return html`<h1>${view.section}</h1><${ProblemBox} problem=${{ message: "This view cannot be shown.", hint: String(error) }} again=${again} />`;
  return html`<${view.view} route=${route} />`;
}

function App() {
  const route = useRoute();
  const [chosen, nextTheme] = useTheme();
  const [keys, showKeys] = useState(false);
  useViewKeys(showKeys);
  const building = useBuilding();
  const { trouble, turn } = useFreshness();
  useSaid(trouble);
  const before = useRef("");
  useEffect(() => {
    if (before.current && !trouble) say("What changes is shown again.");
    before.current = trouble;
  }, [trouble]);
  useSaid(building ? "An index is being built." : "");
  const view = VIEWS.find((each) => each.match(route));
  useEffect(() => {
    document.title = view ? `${view.title(route)} · Slicebase` : "Slicebase";
  }, [route.path]);
  useArrival(route.path, view ? view.section : "No such page");
  const active = view ? view.section : "";
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <nav class="top" aria-label="Views">
      <${Link} to="/" class="mark">Slicebase<//>
      ${!exported && NAVIGATION.map(([path, name, key]) => html`<${Link} key=${path} to=${path} aria-current=${name === active ? "page" : undefined} title=${`g ${key}`}>${name}<//>`)}
      <span class="space"></span>
      ${exported && html`<span class="faint">exported ${exported.time.slice(0, 16).replace("T", " ")}</span>`}
      <button type="button" class="small" onClick=${nextTheme} aria-label=${`Colours: ${chosen || "auto"}`}>${chosen || "auto"}</button>
      <button type="button" class="small" onClick=${() => showKeys((before) => !before)} aria-label="Keys (?)" aria-haspopup="dialog">?</button>
    </nav>
    ${keys && html`<${Keys} close=${() => showKeys(false)} more=${view ? view.keys : []} />`}
    ${exported && exported.notes.map((note) => html`<p key=${note} class="exported-note" role="note">${note}</p>`)}
    <p class="building">${building}</p>
    <p class="building trouble">${trouble && `What is shown may be old: ${trouble}`}</p>
    <main id="main" tabindex="-1">
      ${view ? html`<${Shown} view=${view} route=${route} key=${`${turn} ${view.key ? view.key(route) : view.section}`} />` : html`<h1>No such page</h1><${ProblemBox} problem=${{ message: "No view has this address.", hint: route.path }} />`}
    </main>
    <div id="voice" class="hidden-text" role="status"></div>`;
}

render(html`<${App} />`, document.getElementById("app"));
if (!exported) watchPlaces();
