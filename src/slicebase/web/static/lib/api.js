// The API of the server. A page that was exported has its answers inside it, and asks no server.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

const PREFIX = "/api/v1";

const inside = document.getElementById("answers");
/** The answers of an exported page, by address; null in the application. */
export const exported = inside ? JSON.parse(inside.textContent) : null;

/** An error that the server describes (RFC 9457). */
export class Problem extends Error {
  constructor(fields) {
    super(fields.detail || fields.title || "The request failed.");
    Object.assign(this, { code: "", hint: "", status: 0 }, fields);
  }
}

/** Returns the problem of an exported page that does not have what is asked for. */
export function notExported() {
  return new Problem({ detail: "This page was exported, and does not have this.", hint: "`tt serve` shows it.", code: "exported", status: 404 });
}

/** Returns the address of an endpoint with its parameters; those that are null or "" are left out. */
export function address(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "") query.append(name, String(value));
  }
  const text = query.toString();
  return PREFIX + path + (text ? `?${text}` : "");
}

/** Returns a part of a path: ids may hold `#` and `/`. A browser removes `.` and `..`, which sessions and runs can be named. */
export const part = (name, kind = "session") => encodeURIComponent(/^\.\.?$/.test(name) ? `${kind}:${name}` : name);

/** Returns the address under which an exported page has an answer: slashes are plain, parameters in the order of names. */
function keyOf(place) {
  const [path, text = ""] = place.split("?");
  const query = new URLSearchParams(text);
  query.sort();
  return path.replaceAll("%2F", "/") + (text ? `?${query}` : "");
}

async function read(response) {
  const type = response.headers.get("content-type") || "";
  const value = type.includes("json") ? await response.json() : { detail: await response.text() };
  if (!response.ok) throw new Problem({ status: response.status, ...value });
  return value;
}

const BETWEEN_TRIES = 1000; // milliseconds

/** Asks until the index that the question needs is built, and tells the frame of the page how far that is. */
async function builtFirst(ask, signal) {
  let waited = false;
  try {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (error.code !== "index-building") throw error;
        waited = true;
        building(error.message);
      }
      await new Promise((done) => setTimeout(done, BETWEEN_TRIES));
      if (signal?.aborted) throw new DOMException("nobody waits", "AbortError");
    }
  } finally {
    if (waited) building("");
  }
}

const building = (text) => window.dispatchEvent(new CustomEvent("building", { detail: text }));

/** Returns what the server says about an index that it builds, as long as something waits for it. */
export function useBuilding() {
  const [text, setText] = useState("");
  useEffect(() => {
    const heard = (event) => setText(event.detail);
    window.addEventListener("building", heard);
    return () => window.removeEventListener("building", heard);
  }, []);
  return text;
}

/** Asks the API. Throws a Problem. */
export async function get(path, params, signal) {
  const place = address(path, params);
  if (exported) {
    const key = keyOf(place);
    if (Object.hasOwn(exported.answers, key)) return exported.answers[key];
    throw notExported();
  }
  try {
    return await builtFirst(async () => read(await fetch(place, { signal, headers: { accept: "application/json" } })), signal);
  } catch (error) {
    if (error instanceof Problem || error.name === "AbortError") throw error;
    throw new Problem({ detail: "The server does not answer.", hint: "Is `tt serve` still running?", code: "offline" });
  }
}

/** Sends a verb that writes. Throws a Problem. */
export async function post(path, body) {
  const headers = { "content-type": "application/json", accept: "application/json" };
  return read(await fetch(address(path), { method: "POST", headers, body: JSON.stringify(body) }));
}

/**
 * Asks the API while a component is shown: `{answer, problem, busy, again}`.
 * The old answer stays until the new one is there. With a path that is null, nothing is asked.
 */
export function useAnswer(path, params) {
  const place = path === null ? null : address(path, params);
  const [state, setState] = useState({ place: null, answer: null, problem: null, busy: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (place === null) return undefined;
    const control = new AbortController();
    setState((old) => ({ ...old, busy: true }));
    get(path, params, control.signal).then(
      (answer) => setState({ place, answer, problem: null, busy: false }),
      (problem) => problem.name !== "AbortError" && setState((old) => ({ ...old, place, problem, busy: false })),
    );
    return () => control.abort();
  }, [place, turn]);
  const again = useCallback(() => setTurn((old) => old + 1), []);
  return { ...state, again };
}

/**
 * Reads a list page by page: `{items, more, problem, busy, next, again}`. `field` is the name of the list in an answer.
 * `again` reads as many entries as are shown; they stay until then.
 */
export function usePages(path, params, field) {
  const place = path === null ? null : address(path, params);
  const [state, setState] = useState({ items: [], cursor: null, more: false, problem: null, busy: true, first: null });
  const current = useRef(place);
  const asked = useRef(0);
  const shown = useRef(0);
  shown.current = state.items.length;
  /** Reads the page of a cursor; from the beginning, as many entries as `least`. What was asked before counts no more. */
  const load = useCallback(async (cursor, least = 0) => {
    asked.current += 1;
    const number = asked.current;
    const isLast = () => current.current === place && asked.current === number;
    if (!least) setState((old) => ({ ...old, busy: true }));
    try {
      const first = await get(path, { ...params, cursor });
      let answer = first;
      let items = answer[field];
      while (answer.next && items.length < least && isLast()) {
        answer = await get(path, { ...params, cursor: answer.next });
        items = [...items, ...answer[field]];
      }
      if (!isLast()) return;
      setState((old) => ({
        items: cursor ? [...old.items, ...items] : items,
        cursor: answer.next, more: Boolean(answer.next), problem: null, busy: false, first: cursor ? old.first : first,
      }));
    } catch (problem) {
      if (isLast()) setState((old) => ({ ...old, problem, busy: false }));
    }
  }, [place]);
  useEffect(() => {
    current.current = place;
    if (place !== null) load("");
  }, [place]);
  const next = useCallback(() => state.cursor && !state.busy && load(state.cursor), [state.cursor, state.busy, load]);
  const again = useCallback(() => load("", shown.current), [load]);
  return { ...state, next, again };
}

// What changes while one watches

/** Calls a function when a number or a version is another one than the first time: what is shown has changed. */
export function useLater(call, version) {
  const known = useRef(version);
  useEffect(() => {
    if (known.current !== version) call();
    known.current = version;
  }, [version]);
}

const RETRY = 5000; // milliseconds until a stream that was refused is asked for again
const NEW = "new"; // what a page says when it begins: it missed what the others were told
const heard = new Set(); // the functions of this page that are told
let stop = null; // ends the watching of this page, if it watches

/**
 * Watches for all components of the page. A browser opens six connections to a server, for all of its pages together:
 * one page holds the stream and tells the others, and another one goes on when it is closed. Locks are there on this
 * machine and with TLS.
 */
function watch() {
  const others = new BroadcastChannel("changes");
  const here = (news) => {
    for (const each of [...heard]) each(news);
  };
  let trouble = ""; // what this page told the others last
  const tell = (news) => {
    if (news.trouble !== undefined) ({ trouble } = news);
    others.postMessage(news);
    here({ ...NOTHING, ...news });
  };
  others.onmessage = ({ data }) => {
    if (data !== NEW) here({ ...NOTHING, ...data });
    else if (trouble) others.postMessage({ trouble });
  };
  others.postMessage(NEW);
  const waiting = new AbortController();
  let end = () => {};
  const hold = () => new Promise((done) => {
    let source = null;
    let later = 0;
    const open = () => {
      source = new EventSource(address("/changes"));
      source.addEventListener("grown", (event) => tell(JSON.parse(event.data)));
      source.addEventListener("watching", () => tell({ began: true, trouble: "" }));
      source.addEventListener("recovered", () => tell({ trouble: "" }));
      source.addEventListener("problem", (event) => tell({ trouble: JSON.parse(event.data).detail }));
      source.addEventListener("error", () => {
        const refused = source.readyState === EventSource.CLOSED;
        tell({ trouble: refused ? "The server does not tell this page what changes: perhaps too many pages are open." : "The server does not answer." });
        if (refused) later = setTimeout(open, RETRY);
      });
    };
    open();
    end = () => {
      clearTimeout(later);
      source.close();
      done();
    };
  });
  if (navigator.locks) navigator.locks.request("changes", { signal: waiting.signal }, hold).catch(() => {}); // it went away before its turn
  else hold();
  return () => {
    waiting.abort();
    end();
    others.close();
  };
}

const NOTHING = { __proto__: null, sessions: {}, runs: {}, library: false, purges: null, began: false, trouble: null };

/**
 * Calls a function with what has changed, as long as a component is shown: `sessions` and `runs` that have grown,
 * whether the `library` has, the number of `purges` after one, and `trouble`, the reason why nothing is told, "" when
 * that is over. `began`: the server begins to watch, also after it was gone; what grew until then can be asked for.
 */
export function useGrowth(onGrown) {
  const latest = useRef(onGrown);
  latest.current = onGrown;
  useEffect(() => {
    if (exported) return undefined;
    const told = (news) => latest.current(news);
    heard.add(told);
    stop = stop || watch();
    return () => {
      heard.delete(told);
      if (heard.size) return;
      stop();
      stop = null;
    };
  }, []);
}

/**
 * Returns `{trouble, turn}`: why the page is not told what changes, and a number that is another one when everything
 * that is shown must be read again: words were purged, or the trouble is over and the view still shows its error.
 */
export function useFreshness() {
  const [trouble, setTrouble] = useState("");
  const [turn, setTurn] = useState(0);
  const purges = useRef(null);
  const ask = () => get("/purges").then((found) => {
    const number = `${found.purges} ${found.files}`;
    if (purges.current !== null && number !== purges.current) setTurn((old) => old + 1);
    purges.current = number;
  }, () => {});
  useEffect(() => void (exported || ask()), []); // another page may hold the stream, and have been told that it began
  useGrowth((news) => {
    if (news.purges !== null || news.library || news.began) ask(); // a purge of a file changes the library, if nothing else
    if (news.trouble === null) return;
    setTrouble(news.trouble);
    if (!news.trouble && document.querySelector("main .problem.unavailable")) setTurn((old) => old + 1);
  });
  return { trouble, turn };
}
