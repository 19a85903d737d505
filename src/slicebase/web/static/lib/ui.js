// What views are made of.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { part } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { say } from "slicebase/lib/keyboard.js";
import { Link, href } from "slicebase/lib/router.js";

// Addresses of things

/**
 * Returns the address of the view of a reference (`turn:…`, `file:…`, `mf_…`); null where none shows it.
 * `span` (`{start, end}`, in code points of the text) is marked there; `file` is the slice file of a document's chunk.
 * `cited` is the evidence that quotes the span: a text that can change tells whether the words are still there.
 */
export function placeOf(ref, span = null, file = null, cited = null) {
  const [kind, rest] = ref.includes(":") ? [ref.slice(0, ref.indexOf(":")), ref.slice(ref.indexOf(":") + 1)] : ["", ref];
  const name = encodeURIComponent(rest);
  if (kind === "session") return `/session/${part(rest)}`;
  if (kind === "turn") return href(`/turn/${name}`, span ? { start: span.start, end: span.end } : {});
  if (kind === "run") return `/run/${part(rest, "run")}`;
  if (kind === "file") return `/file/${name}`;
  if (kind === "row" || kind === "sec") return href(`/file/${encodeURIComponent(rest.split(/[/@]/)[0])}`, { at: ref, ...(span || {}), cited });
  if (kind === "doc" && file) return href(`/file/${encodeURIComponent(file)}`, { at: ref, ...(span || {}) });
  if (kind === "claim") return href("/proof/why", { ref });
  if (ref.startsWith("mf_")) return `/context/${ref}`;
  if (ref.startsWith("sn_")) return `/snapshot/${ref}`;
  if (ref.startsWith("ev_")) return href("/proof/why", { ref });
  return null;
}

const LONG_ID = /^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]+|[0-9a-f]{16,}|[0-9A-HJKMNP-TV-Z]{26})$/;

/** Returns a name that is short enough to read: of an id that says nothing, the first eight characters; else its words. */
export function shortName(name) {
  if (LONG_ID.test(name)) return name.slice(0, 8);
  return name.length > 32 ? `${name.slice(0, 31)}…` : name;
}

/** Returns the name of a section after its file: a digest by its beginning, headings by theirs; that before them has none. */
const shortSection = (name) => (name.startsWith("#~") ? `#${name.slice(2, 8)}` : name.length > 1 ? name.slice(0, 13) : "");

/** Returns a reference that is short enough to read: its kind and a short name. */
export function shortRef(ref) {
  const match = /^([a-z]+:|mf_|sn_|ev_)(.*)$/.exec(ref);
  if (!match) return ref.length > 14 ? `${ref.slice(0, 12)}…` : ref;
  const [, kind, id] = match;
  const section = kind === "sec:" && /^([^@#]+)(?:@[^#]*)?(#[^]*)?$/.exec(id); // the names of others may have these signs
  if (section) return kind + shortName(section[1]) + shortSection(section[2] || "");
  const [session, agent] = id.split("#agent-");
  if (kind === "session:" && agent) return `${kind}${shortName(session)}#agent-${shortName(agent)}`;
  const [owner, ...more] = id.split("/");
  return kind + shortName(owner) + (more.length ? `/${more.join("/").slice(0, 12)}` : "");
}

/** A reference that leads to its view. */
export function Ref({ to, children, long = false, span = null, file = null, cited = null }) {
  const place = placeOf(to, span, file, cited);
  const text = children || (long ? to : shortRef(to));
  return place ? html`<${Link} class="ref" to=${place} title=${to}>${text}<//>` : html`<span class="ref" title=${to}>${text}</span>`;
}

// Sizes

/** How many times larger than usual letters are that a reader has set: what is placed by numbers grows with them. */
export const LARGER = Math.max(1, parseFloat(getComputedStyle(document.documentElement).fontSize) / 15);

// Numbers and times

export const count = (number, word, many = `${word}s`) => `${number.toLocaleString("en")} ${number === 1 ? word : many}`;

export function bytes(number) {
  if (number < 1000) return `${number} B`;
  const units = ["KB", "MB", "GB", "TB"];
  let value = number;
  let unit = -1;
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Returns the last two folders of a path: enough to know a project. */
export const folder = (path) => path.split("/").filter(Boolean).slice(-2).join("/") || path;

/** A time in RFC 3339 form, as people read it; the exact one is its title. */
export function When({ time, dateOnly = false }) {
  if (!time) return html`<span class="faint">undated</span>`;
  const text = time.slice(0, dateOnly ? 10 : 16).replace("T", " ");
  return html`<time datetime=${time} title=${time}>${text}</time>`;
}

// Pieces

export function Badge({ kind = "", title, children }) {
  return html`<span class=${`badge ${kind}`} title=${title}>${children}</span>`;
}

const FRESHNESS = { __proto__: null, FRESH: "good", AGING: "", STALE: "warn", DECAYED: "bad" };
/** How fresh a slice file is: FRESH, AGING, STALE or DECAYED. */
export const Freshness = ({ label, title }) => html`<${Badge} kind=${FRESHNESS[label] || ""} title=${title}>${label.toLowerCase()}<//>`;

const STATUS = { __proto__: null, VERIFIED: "good", PASS: "good", BROKEN: "bad", FAIL: "bad", UNVERIFIABLE: "warn", UNWITNESSED: "warn", DRIFTED: "warn", FOREIGN: "", ADOPTED: "", PURGED: "" };
export const Status = ({ value }) => html`<${Badge} kind=${STATUS[value] || ""}>${value}<//>`;

export function Copy({ text, label = "copy" }) {
  const [done, setDone] = useState("");
  const copy = async (event) => {
    const button = event.currentTarget;
    let said = "copied";
    try {
      await navigator.clipboard.writeText(text);
    } catch { // there is no clipboard without TLS, or it is not allowed
      const box = document.createElement("textarea");
      box.value = text;
      button.after(box);
      box.select();
      if (!document.execCommand("copy")) said = "not allowed";
      box.remove();
      button.focus();
    }
    setDone(said);
    say(said);
    setTimeout(() => setDone(""), 1200);
  };
  return html`<button type="button" class="small" onClick=${copy} title=${text}>${done || label}</button>`;
}

export function Busy({ children = "reading …" }) {
  return html`<p class="busy">${children}</p>`;
}

export function Empty({ children }) {
  return html`<p class="empty">${children}</p>`;
}

export function ProblemBox({ problem, again }) {
  return html`<div class=${`problem ${problem.status === 503 || problem.code === "offline" ? "unavailable" : ""}`} role="alert">
    <strong>${problem.message}</strong> ${problem.where && problem.where.file && html`<code>${[problem.where.file, problem.where.line, problem.where.column].filter((each) => each !== null).join(":")}</code> `}${problem.code && html`<code>${problem.code}</code>`}
    ${problem.hint && html`<div class="faint">${problem.hint}</div>`}
    ${again && html`<button type="button" class="small" onClick=${again}>try again</button>`}
  </div>`;
}

/** What an answer is shown with: busy, problem or the content. `asked` is of `useAnswer`; `title` is the heading without an answer. */
export function Answered({ asked, title, children }) {
  const head = title && html`<h1 dir="auto">${title}</h1>`;
  if (asked.problem && !asked.answer) return html`${head}<${ProblemBox} problem=${asked.problem} again=${asked.again} />`;
  if (!asked.answer) return html`${head}<${Busy} />`;
  return html`${asked.problem && html`<${ProblemBox} problem=${asked.problem} again=${asked.again} />`}${children(asked.answer)}`;
}

/** The end of a list that has more: it is read when it comes into sight, or by its button. */
export function More({ pages, label = "more" }) {
  const mark = useRef(null);
  useEffect(() => {
    if (!mark.current || !pages.more) return undefined;
    const seen = new IntersectionObserver((entries) => entries.some((each) => each.isIntersecting) && pages.next(), { rootMargin: "400px" });
    seen.observe(mark.current);
    return () => seen.disconnect();
  }, [pages.more, pages.next]);
  if (pages.problem) return html`<${ProblemBox} problem=${pages.problem} again=${pages.again} />`;
  if (pages.busy) return html`<${Busy} />`;
  return pages.more ? html`<p ref=${mark}><button type="button" class="small" onClick=${pages.next}>${label}</button></p>` : null;
}

/** A part of a page with a heading. */
export function Panel({ title, aside, children, id, class: more = "" }) {
  return html`<section class=${`panel ${more}`} aria-labelledby=${id}>
    ${title && html`<header><h2 id=${id}>${title}</h2>${aside && html`<div class="aside">${aside}</div>`}</header>`}
    ${children}
  </section>`;
}

/** Facts as pairs; those without a value are left out. */
export function Facts({ of }) {
  const shown = Object.entries(of).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A box to search with. The words are told when typing pauses. */
export function SearchBox({ value, onWords, label, placeholder, autofocus = false }) {
  const [words, setWords] = useState(value);
  const waiting = useRef(0);
  useLayoutEffect(() => { // at once: a key that is pressed before the next frame is drawn must not be lost
    setWords(value);
    return () => clearTimeout(waiting.current);
  }, [value]);
  const typed = (event) => {
    const text = event.currentTarget.value;
    setWords(text);
    clearTimeout(waiting.current);
    waiting.current = setTimeout(() => onWords(text), 180);
  };
  const now = (event) => {
    event.preventDefault();
    clearTimeout(waiting.current);
    onWords(words);
  };
  return html`<form role="search" class="search" onSubmit=${now}>
    <input type="search" aria-label=${label} placeholder=${placeholder || label} value=${words} onInput=${typed} autofocus=${autofocus} spellcheck=${false} autocomplete="off" />
  </form>`;
}

/** A text with marked places, `[[start, end], …]` in code points, as the server counts them. */
export function Marked({ text, marks }) {
  if (!marks || !marks.length) return text;
  const letters = Array.from(text);
  const pieces = [];
  let at = 0;
  for (const [start, end] of marks) {
    pieces.push(letters.slice(at, start).join(""), html`<mark>${letters.slice(start, end).join("")}</mark>`);
    at = end;
  }
  pieces.push(letters.slice(at).join(""));
  return html`<span>${pieces}</span>`;
}
