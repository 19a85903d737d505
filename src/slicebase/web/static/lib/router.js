// Addresses: every view has one that can be shared. The path names the view, the query holds what was chosen in it.
import { useEffect, useState } from "preact/hooks";
import { exported } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { keepPlace, leavePlace } from "slicebase/lib/places.js";

const listeners = new Set();
const start = exported ? new URL(exported.address, "http://page/") : null;
let virtual = start;

const here = () => virtual || new URL(window.location.href);

/** Returns the address of a view. Parameters that are null or "" are left out. */
export function href(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "") query.append(name, String(value));
  }
  const text = query.toString();
  return path + (text ? `?${text}` : "");
}

/** Goes to an address. With `replace`, the way back leads over it: for what changes while one drags. */
export function go(address, { replace = false } = {}) {
  if (virtual) virtual = new URL(address, virtual);
  else if (replace) window.history.replaceState(window.history.state, "", address);
  else {
    leavePlace();
    keepPlace();
    window.history.pushState({ y: window.scrollY }, "", address);
  }
  for (const each of listeners) each();
}

/** Changes parameters of the address that is shown. */
export function choose(params, options = { replace: true }) {
  const now = here();
  const kept = Object.fromEntries(now.searchParams);
  go(href(now.pathname, { ...kept, ...params }), options);
}

/** Returns the address that is shown: `{path, parts, query}`; the component is drawn again when it changes. */
export function useRoute() {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const changed = () => setTurn((old) => old + 1);
    listeners.add(changed);
    window.addEventListener("popstate", changed);
    return () => {
      listeners.delete(changed);
      window.removeEventListener("popstate", changed);
    };
  }, []);
  const now = here();
  const parts = now.pathname.split("/").filter(Boolean).map(decoded);
  return { path: now.pathname, parts, query: Object.fromEntries(now.searchParams) };
}

/** Gives the page the title of what it shows, where its address has an id only. */
export function useTitle(text) {
  useEffect(() => {
    if (text) document.title = `${text} · Slicebase`;
  }, [text]);
}

/** Returns a part of a path as it was meant; one that is not UTF-8 stays as it is written. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns whether the view of an address is in this page: an exported page has one view. */
export const isHere = (address) => !start || new URL(address, start).pathname === start.pathname;

/** A link inside the application; a text in an exported page that does not have the view. */
export function Link({ to, children, stay = false, ...rest }) {
  if (!isHere(to)) return html`<span ...${rest}>${children}</span>`;
  const follow = (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
    if (!stay) window.scrollTo(0, 0);
  };
  return html`<a href=${to} onClick=${follow} ...${rest}>${children}</a>`;
}
