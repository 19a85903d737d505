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

/** Returns a part of a path: ids may hold `#` and `/`. */
export const part = (name) => encodeURIComponent(name);

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
 */
export function usePages(path, params, field) {
  const place = path === null ? null : address(path, params);
  const [state, setState] = useState({ items: [], cursor: null, more: false, problem: null, busy: true, first: null });
  const current = useRef(place);
  const load = useCallback(async (cursor) => {
    setState((old) => ({ ...old, busy: true }));
    try {
      const answer = await get(path, { ...params, cursor });
      if (current.current !== place) return;
      setState((old) => ({
        items: cursor ? [...old.items, ...answer[field]] : answer[field],
        cursor: answer.next, more: Boolean(answer.next), problem: null, busy: false, first: cursor ? old.first : answer,
      }));
    } catch (problem) {
      if (current.current === place) setState((old) => ({ ...old, problem, busy: false }));
    }
  }, [place]);
  useEffect(() => {
    current.current = place;
    if (place !== null) load("");
  }, [place]);
  const next = useCallback(() => state.cursor && !state.busy && load(state.cursor), [state.cursor, state.busy, load]);
  return { ...state, next, again: () => load("") };
}

/**
 * Calls a function with what has grown, `{sessions, runs}`, as long as a component is shown, and with `{began: true}`
 * when the server begins to watch, also after it was gone: what grew until then can be asked for.
 * A browser opens six connections to a server, for all of its pages together: one page holds the stream and tells the
 * others, and another one goes on when it is closed. Locks are there on this machine and with TLS.
 */
export function useGrowth(onGrown) {
  const latest = useRef(onGrown);
  latest.current = onGrown;
  useEffect(() => {
    if (exported) return undefined;
    const others = new BroadcastChannel("changes");
    others.onmessage = (event) => latest.current(event.data);
    const waiting = new AbortController();
    let end = () => {};
    const hold = () => new Promise((done) => {
      const source = new EventSource(address("/changes"));
      const tell = (grown) => {
        others.postMessage(grown);
        latest.current(grown);
      };
      source.addEventListener("grown", (event) => tell(JSON.parse(event.data)));
      source.addEventListener("watching", () => tell({ sessions: {}, runs: {}, began: true }));
      end = () => {
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
  }, []);
}
