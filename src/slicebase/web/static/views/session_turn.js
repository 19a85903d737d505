// A turn of a chat: what is said, tool calls and their results folded, changes of files as differences.
import { useState } from "preact/hooks";
import { exported, get, part, useAnswer } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { choose, Link } from "slicebase/lib/router.js";
import { Code, Diff, Markdown, Plain } from "slicebase/lib/text.js";
import { Badge, Busy, Copy, count, Marked, ProblemBox, When } from "slicebase/lib/ui.js";
import { Compaction, Lost } from "slicebase/views/session_lost.js";

const LANGUAGES = { __proto__: null, py: "python", js: "javascript", mjs: "javascript", ts: "typescript", tsx: "typescript", sh: "bash", rs: "rust", go: "go", json: "json", yml: "yaml", yaml: "yaml", sql: "sql", css: "css", html: "xml", xml: "xml", java: "java", rb: "ruby", c: "c", h: "c", cpp: "cpp", toml: "ini", ini: "ini", md: "markdown" };

/** One turn. `isMarked`: the line of its compaction is at the summary beside it. `slice` is how it is in the context slice that is drawn, if one is. */
export function TurnBlock({ turn, session, isMarked, isChosen, isAnchor, selected, hasSlice, agents, cited }) {
  const [compared, setCompared] = useState(false);
  const classes = ["turn", compared && "with-lost", turn.role, isChosen && "is-chosen", isAnchor && "anchor", turn.beside && "beside", hasSlice && (selected ? `in phase-${selected.phase}` : "out")];
  return html`<article class=${classes.filter(Boolean).join(" ")} data-turn=${turn.turn} id=${`turn-${turn.turn}`} aria-current=${isChosen ? "true" : undefined}>
    ${turn.branches.length > 0 && html`<${Branches} turn=${turn} />`}
    ${turn.compaction && !isMarked && html`<${Compaction} turn=${turn} open=${compared} onOpen=${setCompared} />`}
    <header>
      <h2 class=${`who ${turn.role}`}>${turn.role}</h2>
      ${turn.beside && html`<${Badge} title="It is not on this path, but the model saw it here.">beside<//>`}
      ${hasSlice && selected && html`<span class=${`slice-note phase-${selected.phase}`} title=${selected.way ? `priority ${selected.priority.toFixed(4)}` : undefined}>${selected.way === "anchor" ? "anchor" : `${selected.phase}, distance ${selected.distance}`}</span>`}
      <span class="space"></span>
      <span class="turn-tools">
        ${!exported && html`<button type="button" class="small" onClick=${() => choose({ anchor: isAnchor ? "" : turn.turn, turn: turn.turn }, {})} aria-pressed=${isAnchor} title="a">${isAnchor ? "no anchor" : "anchor"}</button>`}
        <${Copy} text=${`turn:${turn.turn}`} label="ref" />
      </span>
      <${Link} class="turn-number" stay to=${`?turn=${turn.turn}`} title=${`turn:${turn.turn}`} onClick=${(event) => { event.preventDefault(); choose({ turn: turn.turn }, {}); }}>#${turn.number + 1}<//>
      <span class="faint"><${When} time=${turn.time} /></span>
    </header>
    ${cited && html`<${Cited} turn=${turn.turn} start=${cited.start} end=${cited.end} />`}
    ${turn.purged && html`<p class="empty">The content of this turn was purged. Its record and its hashes stay.</p>`}
    <div class="sides"><div class="side">${turn.parts.map((each, place) => html`<${Part} key=${place} of=${each} turn=${turn} place=${place} />`)}</div>
      ${compared && html`<${Lost} session=${session} turn=${turn.turn} />`}</div>
    ${!turn.purged && !turn.parts.length && html`<p class="empty">This turn has no content.</p>`}
    ${(agents || []).map((each) => html`<p key=${each.session} class="agent-link">started a subagent: <${Link} to=${`/session/${part(each.session)}`}>${each.title || each.session.split("#agent-")[1] || each.session}<//></p>`)}
  </article>`;
}

const BESIDE = 3; // branches that are shown on each side of this one

function Branches({ turn: { branches, branches_before: before, branches_after: after } }) {
  const here = branches.findIndex((each) => each.here);
  const first = Math.max(0, Math.min(here - BESIDE, branches.length - 2 * BESIDE - 1));
  const last = Math.min(branches.length, first + 2 * BESIDE + 1);
  return html`<nav class="branches" aria-label="Branches here">
    <span class="faint">branch ${(before + here + 1).toLocaleString("en")} of ${(before + branches.length + after).toLocaleString("en")}</span>
    ${before + first > 0 && html`<span class="faint">${(before + first).toLocaleString("en")} before</span>`}
    ${branches.slice(first, last).map((each) => (each.here
      ? html`<span key=${each.turn} class="branch here" aria-current="true">this one</span>`
      : html`<button type="button" key=${each.turn} class="small branch" title=${each.text} onClick=${() => choose({ turn: each.turn }, {})}>${each.text || each.role}</button>`))}
    ${last < branches.length + after && html`<span class="faint">${(branches.length + after - last).toLocaleString("en")} after</span>`}
  </nav>`;
}

function Cited({ turn, start, end }) {
  const asked = useAnswer(`/turns/${part(turn)}`);
  if (asked.problem) return html`<${ProblemBox} problem=${asked.problem} />`;
  if (!asked.answer) return html`<${Busy} />`;
  const letters = Array.from(asked.answer.text || "");
  const from = Math.max(0, start - 400);
  const to = Math.min(letters.length, end + 400);
  const isOutside = start < 0 || end > letters.length || start >= end;
  return html`<div class="cited-place" role="note" aria-label="Cited text">
    <p class="faint">Cited: characters ${start} to ${end} of the text of this turn.</p>
    ${isOutside ? html`<p class="empty">The text has ${letters.length.toLocaleString("en")} characters: it has no such place.</p>`
    : html`<pre dir="auto">${from > 0 ? "…" : ""}<${Marked} text=${letters.slice(from, to).join("")} marks=${[[start - from, end - from]]} />${to < letters.length ? "…" : ""}</pre>`}
  </div>`;
}

function Part({ of, turn, place }) {
  const [whole, setWhole] = useState(null);
  const shown = whole || of;
  const cut = shown.size > Array.from(shown.text).length;
  const all = async () => setWhole((await get(`/turns/${part(turn.turn)}`)).shown.parts[place]);
  const more = cut && html`<button type="button" class="small" onClick=${all}>show all ${of.size.toLocaleString("en")} characters</button>`;
  if (of.type === "tool_call") return html`<${Call} of=${shown} more=${more} />`;
  if (of.type === "tool_result" || turn.role === "tool") return html`<${Result} of=${shown} more=${more} />`;
  if (of.type === "thinking") return html`<details class="thinking"><summary>thinking</summary><${Markdown} text=${shown.text} />${more}</details>`;
  if (of.type === "code") return html`<div class="part"><${Code} text=${shown.text} language=${of.language} />${more}</div>`;
  if (of.type === "pointer") return html`<p class="pointer"><${Badge}>${of.name || "attachment"}<//> <code>${of.uri}</code></p>`;
  if (of.hidden && !of.size) return html`<p class="empty">Empty, and not shown by the client.</p>`;
  if (of.hidden) return html`<details class="hidden-part"><summary>not shown by the client (${of.size.toLocaleString("en")} characters)</summary><${Plain} text=${shown.text} />${more}</details>`;
  return html`<div class="part">${of.name && html`<strong>${of.name}: </strong>`}<${Markdown} text=${shown.text} />${more}</div>`;
}

function Call({ of, more }) {
  const paths = of.edits.map((each) => each.path).join(", ");
  const words = paths || (of.brief.startsWith(of.name) ? of.brief.slice(of.name.length + 1) : of.brief);
  const isOpen = of.edits.length > 0 && of.edits.reduce((sum, each) => sum + each.lines.length, 0) <= 40;
  return html`<details class="call" open=${isOpen}>
    <summary><span class="tool-name">${of.name || "call"}</span> <span class="brief">${words}</span></summary>
    ${of.edits.map((edit, number) => html`<div key=${number} class="edit">${of.edits.length > 1 && html`<p class="mono faint">${edit.path}</p>`}
      ${edit.lines.length ? html`<${Diff} lines=${edit.lines} />` : html`<p class="empty">No line differs.</p>`}${edit.more > 0 && html`<p class="faint">${count(edit.more, "more line", "more lines")}</p>`}</div>`)}
    ${of.edits.length ? html`<details class="arguments"><summary>arguments</summary><${Arguments} text=${of.text} />${more}</details>` : html`<${Arguments} text=${of.text} />${more}`}
  </details>`;
}

/** Arguments as names and texts; where they cannot be read, as they are. */
function Arguments({ text }) {
  let values = null;
  try {
    values = JSON.parse(text);
  } catch {
    values = null; // cut, or no JSON
  }
  if (!text) return html`<p class="faint">no arguments</p>`;
  if (!values || typeof values !== "object" || Array.isArray(values)) return html`<${Plain} text=${text} />`;
  return html`<dl class="values">${Object.entries(values).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${typeof value === "string" ? html`<${Value} name=${name} text=${value} all=${values} />` : html`<${Plain} text=${JSON.stringify(value, null, 2)} limit=${1500} />`}</dd></div>`)}</dl>`;
}

function Value({ name, text, all }) {
  if (["command", "cmd"].includes(name)) return html`<${Code} text=${text} language="bash" />`;
  if (["content", "file_text", "new_source"].includes(name)) return html`<${Code} text=${text} language=${languageOf(String(all.file_path || all.path || ""))} />`;
  return html`<${Plain} text=${text} limit=${1500} />`;
}

const languageOf = (path) => LANGUAGES[path.slice(path.lastIndexOf(".") + 1).toLowerCase()] || "";

function Result({ of, more }) {
  const isShort = of.size <= 240 && !of.text.includes("\n");
  if (isShort) return html`<p class=${`result result-short ${of.error ? "error" : ""}`}>${of.error && html`<${Badge} kind="bad">error<//> `}<span class="mono">${of.text || "(empty)"}</span></p>`;
  return html`<details class=${`result ${of.error ? "error" : ""}`}>
    <summary>${of.error ? html`<${Badge} kind="bad">error<//> ` : html`<span class="faint">result </span>`}<span class="brief">${of.brief}</span> <span class="faint">${of.size.toLocaleString("en")} characters</span></summary>
    <${Plain} text=${of.text} limit=${6000} />${more}
  </details>`;
}
