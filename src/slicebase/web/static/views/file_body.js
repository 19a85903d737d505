// The body of a slice file, by its type. Long bodies come window by window; what is cited is marked.
import { useEffect, useRef, useState } from "preact/hooks";
import { address, get, useAnswer, useLater, usePages } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { choose, Link } from "slicebase/lib/router.js";
import { Code, Markdown, Plain } from "slicebase/lib/text.js";
import { Answered, Badge, Busy, bytes, count, Empty, Facts, More, Panel, ProblemBox, When } from "slicebase/lib/ui.js";
import { CitedNote, useCited } from "slicebase/views/file_cited.js";
import { Rows } from "slicebase/views/file_rows.js";

const part = encodeURIComponent;

export function Body({ file, query }) {
  if (file.purged) return html`<${Panel} title="Content" id="content"><${Empty}>It was deleted for good. Its hash and its size stay: <code>${file.hash}</code><//><//>`;
  if (file.type === "jsonl") return html`<${Rows} file=${file} query=${query} />`;
  if (file.type === "conversation") return html`<${Talk} file=${file} />`;
  if (file.type === "routine") return html`<${Steps} file=${file} />`;
  if (file.type === "none" && !file.path) return html`<${Pointer} file=${file} />${query.at && query.at.startsWith("doc:") && html`<${Chunk} key=${query.at} query=${query} />`}`;
  return html`<${Texts} key=${`${query.at || ""} ${file.version}`} file=${file} query=${query} />`;
}

function Pointer({ file }) {
  const at = file.payload;
  return html`<${Panel} title="Content" id="content">
    ${at ? html`<p>The content is elsewhere, and is never fetched.</p><${Facts} of=${{ uri: html`<code>${at.uri || "nowhere"}</code>`, size: at.size === null ? null : bytes(at.size), hash: at.hash && html`<code>${at.hash}</code>` }} />` : html`<${Empty}>This file has no body.<//>`}
  <//>`;
}

/** A cited chunk of a document, with the cited words marked. */
function Chunk({ query }) {
  const asked = useAnswer("/chunk", { ref: query.at, start: query.start, end: query.end });
  return html`<${Panel} title="The cited chunk" id="chunk" aside=${html`<code>${query.at}</code>`} class="content">
    <${Answered} asked=${asked}>${(found) => html`<${CitedText} pieces=${[found.before, found.cited, found.after]} />`}<//>
  <//>`;
}

/** A text in three pieces, of which the second is marked, in sight. */
function CitedText({ pieces: [before, cited, after], children }) {
  const here = useRef(null);
  useEffect(() => here.current && here.current.scrollIntoView({ block: "center" }), []);
  return html`<div class="cited" ref=${here} tabindex="-1" role="group" aria-label="the cited place">${children}
    <pre dir="auto">${before}${cited && html`<mark>${cited}</mark>`}${after}</pre>
  </div>`;
}

// Texts

/** Reads a text window by window: `{windows, first, more, next, problem, busy}`. */
function useWindows(id, query) {
  const [state, setState] = useState({ windows: [], problem: null, busy: true });
  const alive = useRef(true);
  const load = async (params) => {
    setState((old) => ({ ...old, busy: true }));
    try {
      const answer = await get(`/files/${part(id)}/body`, params);
      if (alive.current) setState((old) => ({ windows: [...old.windows, answer], problem: null, busy: false }));
    } catch (problem) {
      if (alive.current) setState((old) => ({ ...old, problem, busy: false }));
    }
  };
  const first = query.at && query.at.startsWith("sec:") ? { at: query.at, span_start: query.start, span_end: query.end } : { start: query.from };
  useEffect(() => {
    alive.current = true;
    load(first);
    return () => { alive.current = false; };
  }, [address(id, first)]);
  const last = state.windows[state.windows.length - 1];
  const more = Boolean(last && last.end < last.total);
  return { ...state, last, more, next: () => !state.busy && more && load({ start: last.end }), again: () => load(first) };
}

/** The text of a file, as soon as it is known where the words are now that an address cites. */
function Texts({ file, query }) {
  const cited = useCited(query);
  if (cited.reads) return html`<${Panel} title="Content" id="content" class="content"><${Busy} /><//>`;
  const { start, end } = query.cited && cited.span ? cited.span : query;
  return html`<${Windows} file=${file} query=${{ ...query, start, end }} cited=${cited} />`;
}

function Windows({ file, query, cited }) {
  const read = useWindows(file.id, query);
  const first = read.windows[0];
  const aside = first && first.total > 0 && html`${first.total.toLocaleString("en")} characters`;
  return html`<${Panel} title="Content" id="content" aside=${aside} class="content">
    ${first && first.problem && html`<p class="problem">The note cannot be read: ${first.problem}</p>`}
    ${first && first.headings.length > 2 && html`<${Outline} file=${file} headings=${first.headings} sections=${first.sections} />`}
    ${first && first.start > 0 && html`<p class="faint">from line ${first.line} · <button type="button" class="small" onClick=${() => choose({ at: null, start: null, end: null, cited: null, from: null })}>from the beginning</button></p>`}
    ${read.windows.map((each) => html`<${TextPart} key=${each.start} file=${file} part=${each} cited=${cited} />`)}
    ${first && !first.total && !first.problem && html`<${Empty}>The body is empty.<//>`}
    ${first && read.more && html`<p class="faint">${Math.round((read.last.end / read.last.total) * 100)} % of ${read.last.total.toLocaleString("en")} characters</p>`}
    <${More} pages=${{ ...read, more: read.more }} label="read on" />
  <//>`;
}

function Outline({ file, headings, sections }) {
  return html`<details class="outline"><summary>${headings.length < sections ? `the first ${headings.length} of ` : ""}${count(sections, "section")}</summary><ol class="plain-list">${headings.map((each) => html`<li key=${each.start} style=${{ paddingLeft: `${Math.min(each.level - 1, 4)}rem` }}><${Link} to=${`/file/${part(file.id)}?at=${part(each.ref)}`}>${each.title || "untitled"}<//></li>`)}</ol></details>`;
}

function TextPart({ file, part: shown, cited }) {
  if (shown.at) return html`<${CitedPart} file=${file} shown=${shown} cited=${cited} />`;
  return html`<${TextOf} file=${file} text=${shown.text} />`;
}

function TextOf({ file, text }) {
  if (!text) return null;
  if (file.type === "markdown" || file.path) return html`<${Markdown} text=${text} />`;
  if (file.type === "code") return html`<${Code} text=${text} language=${file.language} />`;
  if (file.type === "yaml") return html`<${Code} text=${text} language="yaml" />`;
  return html`<${Plain} text=${text} limit=${20_000} />`;
}

const STATES = { __proto__: null, drifted: "The text has changed since it was cited.", gone: "The section that was cited is not here any more." };

/** A window with the place that a reference names: the section as it is written, with the cited words marked if they are still there. */
function CitedPart({ file, shown, cited }) {
  const { at } = shown;
  const note = cited.status === "found" ? null : html`<${CitedNote} cited=${cited} />`;
  if (at.state === "gone") return html`${note || html`<p class="problem">${STATES.gone}</p>`}<${TextOf} file=${file} text=${shown.text} />`;
  const letters = Array.from(shown.text);
  const cut = (start, end) => letters.slice(Math.max(0, start - shown.start), Math.max(0, end - shown.start)).join("");
  const isThere = note ? cited.span !== null : at.state === "same"; // without evidence, nobody knows which words were cited
  const pieces = isThere ? [cut(at.start, at.span_start), cut(at.span_start, at.span_end), cut(at.span_end, at.end)] : [cut(at.start, at.end), "", ""];
  return html`<${CitedText} pieces=${pieces}>${note || (at.state !== "same" && html`<p><${Badge} kind="warn">drifted<//> ${STATES[at.state]}</p>`)}<//>
    <${TextOf} file=${file} text=${cut(at.end, shown.end)} />`;
}

// Conversations

const ROLE_NAMES = { __proto__: null, tool_call: "tool call", tool_result: "tool result", compaction_note: "compaction" };
const ROLE_COLOURS = { __proto__: null, tool_call: "tool", tool_result: "tool", developer: "system" };

function Talk({ file }) {
  const pages = usePages(`/files/${part(file.id)}/conversation`, { limit: 50 }, "entries");
  useLater(pages.again, file.version);
  return html`<${Panel} title="Conversation" id="content">
    <ol class="plain-list talk">${pages.items.map((each) => html`<${Saying} key=${each.line} each=${each} />`)}</ol>
    ${pages.first && !pages.items.length && html`<${Empty}>Nobody has said anything yet.<//>`}
    <${More} pages=${pages} />
  <//>`;
}

function Saying({ each }) {
  const name = ROLE_NAMES[each.role] || each.role;
  const head = html`<span class=${`role role-${ROLE_COLOURS[each.role] || each.role}`}>${name}</span> ${each.name && html`<code>${each.name}</code>`} ${each.turns_summarized !== null && html`<span class="faint">of ${count(each.turns_summarized, "turn")}</span>`} <span class="faint">${each.time ? html`<${When} time=${each.time} />` : ""}</span>`;
  const cut = each.characters > each.text.length && html`<p class="faint">the first ${each.text.length.toLocaleString("en")} of ${each.characters.toLocaleString("en")} characters</p>`;
  if (each.role === "compaction_note") return html`<li class="compaction">${head}<${Markdown} text=${each.text} />${cut}</li>`;
  if (/^tool/.test(each.role)) return html`<li><details><summary>${head} <span class="faint clip-1">${(each.text || each.args || "").slice(0, 120)}</span></summary>${each.args !== null && html`<${Code} text=${each.args} language="json" />`}${each.text && html`<${Plain} text=${each.text} />`}${cut}</details></li>`;
  return html`<li class=${each.role === "user" ? "said-user" : ""}><div>${head}</div><${Markdown} text=${each.text} />${cut}</li>`;
}

// Routines

function Steps({ file }) {
  const pages = usePages(`/files/${part(file.id)}/routine`, { limit: 100 }, "steps");
  useLater(pages.again, file.version);
  const required = [...new Set(pages.items.flatMap((each) => each.requirements))];
  return html`<${Panel} title="Routine" id="content" aside="nothing is executed">
    ${required.length > 0 && html`<h3>Requirements</h3><ul>${required.map((each) => html`<li key=${each}>${each}</li>`)}</ul><h3>Steps</h3>`}
    <ol class="steps">${pages.items.map((each) => html`<li key=${each.line}><${Step} each=${each} /></li>`)}</ol>
    ${pages.problem ? html`<${ProblemBox} problem=${pages.problem} />` : pages.busy && html`<${Busy} />`}
    <${More} pages=${{ ...pages, busy: false, problem: null }} />
  <//>`;
}

function Step({ each }) {
  return html`${each.kind === "instruction"
      ? html`<${Markdown} text=${each.what} />`
      : html`<p><${Badge}>${each.kind}<//> ${each.title ? html`<${Link} to=${`/file/${part(each.what)}`}>${each.title}<//>` : html`<code>${each.what}</code>`}</p>`}
    ${each.args && html`<${Code} text=${each.args} language="json" />`}
    ${each.note && html`<p class="soft">Note: ${each.note}</p>`}
    ${each.requirements.length > 0 && html`<p class="faint">needs ${each.requirements.join("; ")}</p>`}`;
}
