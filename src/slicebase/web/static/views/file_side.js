// What stands beside the body of a file: its contract, where it comes from, its links, and what is wrong with it.
import { useState } from "preact/hooks";
import { useAnswer } from "slicebase/lib/api.js";
import { fileAt } from "slicebase/lib/files.js";
import { html } from "slicebase/lib/html.js";
import { choose, Link } from "slicebase/lib/router.js";
import { Answered, Badge, bytes, count, Empty, Panel, Ref, When } from "slicebase/lib/ui.js";

const part = encodeURIComponent;

/** Facts one below the other; those without a value are left out. */
function Pairs({ of }) {
  const shown = Object.entries(of).filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return html`<dl class="pairs">${shown.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd dir="auto">${value}</dd></div>`)}</dl>`;
}

const WRITES = { __proto__: null, append: "append: something is added at the end", supersede: "supersede: a row names the rows that it replaces", replace: "replace: the body, or a section of it", error: "error: nothing, it is read-only" };
const OVERFLOWS = { __proto__: null, split: "split: goes on in a part", archive: "archive: the oldest moves to a part", summarize: "summarize: waits for a summary", error: "error: a write is refused" };

export function Contract({ file }) {
  const { purpose, exclude, format, write, overflow, cleanup } = file.contract;
  const excluded = exclude.length > 0 && html`<ul class="plain-list">${exclude.map((each) => html`<li key=${each.topic}>${each.topic}${each.to && html` → <${Link} to=${fileAt(each.to)}>${each.title || each.to}<//>`}</li>`)}</ul>`;
  return html`<${Panel} title="Contract" id="contract">
    <${Pairs} of=${{ purpose, "not here": excluded, format, write: WRITES[write] || write, overflow: OVERFLOWS[overflow] || overflow, cleanup }} />
    ${file.due && html`<p><${Badge} kind="warn">due<//> it is due to be ${file.due === "summarize" ? "summarized" : file.due}</p>`}
    ${file.done && file.done.at && html`<p class="faint">done <${When} time=${file.done.at} dateOnly /></p>`}
  <//>`;
}

const value = (each) => (each !== null && typeof each === "object" ? html`<code>${JSON.stringify(each)}</code>` : String(each));

export function Origin({ file }) {
  const from = file.derived_from;
  const states = { fresh: "unchanged since", stale: "has changed since", unknown: "is not here" };
  const derived = from && html`${from.title ? html`<${Link} to=${fileAt(from.id)}>${from.title}<//>` : html`<${Ref} to=${/^(sn_|file:)/.test(from.id || "") ? from.id : `file:${from.id}`} />`} <${Badge} kind=${file.freshness.derivation === "stale" ? "warn" : file.freshness.derivation === "fresh" ? "good" : ""}>${states[file.freshness.derivation] || "derived"}<//>`;
  const by = file.updated_by && Object.entries(file.updated_by).map(([name, each]) => html`<span key=${name}>${name} ${value(each)} </span>`);
  const meta = Object.entries(file.meta);
  return html`<${Panel} title="Provenance" id="origin">
    <${Pairs} of=${{
      "derived from": derived, "changed by": by,
      created: file.created_at && html`<${When} time=${file.created_at} />`, updated: file.updated_at && html`<${When} time=${file.updated_at} />`,
      note: file.path && html`<code>${file.path}</code>`,
      payload: file.payload && html`<code>${file.payload.uri || "nowhere"}</code>${file.payload.size !== null && ` ${bytes(file.payload.size)}`}`,
      file: html`<code>${file.file}</code>`, hash: file.hash && html`<code class="hash">${file.hash}</code>`, version: html`<code class="hash">${file.version}</code>`,
      parts: file.parts.length > 0 && html`${file.parts.map((each) => html`<span key=${each}><${Link} to=${fileAt(each)}>${each}<//> </span>`)}` }} />
    ${meta.length > 0 && html`<h3>Meta</h3><${Pairs} of=${Object.fromEntries(meta.map(([name, each]) => [name, value(each)]))} />`}
    <p class="row"><${Link} to=${`/proof/why?ref=${part(file.ref)}`}>what it rests on<//> <${Link} to=${`/proof/why?ref=${part(file.ref)}&forward=true`}>what rests on it<//></p>
  <//>`;
}

/** The links of a file, stated ones first. Inferred ones are drawn dashed, and say from what they follow. */
export function Links({ id, few }) {
  const asked = useAnswer(`/files/${part(id)}/links`);
  return html`<${Panel} title="Links" id="links" aside=${few && html`<button type="button" class="small" onClick=${() => choose({ show: "links" }, { replace: false })}>as a graph</button>`}>
    <${Answered} asked=${asked}>${(found) => {
      if (!found.total) return html`<${Empty}>No file links to it, and it links to none.<//>`;
      const stated = found.links.filter((each) => !each.inferred);
      const inferred = found.links.filter((each) => each.inferred);
      return html`<${LinkList} links=${stated} few=${few} titles=${found.titles} />
        ${inferred.length > 0 && html`<h3>Inferred <span class="faint">(no file states them)</span></h3><${LinkList} links=${inferred} few=${few} titles=${found.titles} />`}
        ${found.total > found.links.length && html`<p class="faint">${found.links.length} of ${found.total.toLocaleString("en")} links</p>`}`;
    }}<//>
  <//>`;
}

function LinkList({ links, few, titles }) {
  const [all, setAll] = useState(!few);
  const shown = all ? links : links.slice(0, few);
  return html`<ul class="plain-list links">${shown.map((each, at) => html`<li key=${at} class=${each.inferred ? "inferred" : ""}>
      <span class="arrow" aria-hidden="true">${each.outward ? "→" : "←"}</span><span class="hidden-text">${each.outward ? "to" : "from"}</span>
      <span class="rel">${each.rel}</span> <${LinkEnd} end=${each.end} />
      ${each.label && html` <span class="faint">“${each.label}”</span>`}${each.row && html` <span class="faint">row ${each.row}</span>`}
      ${each.inferred && html`<details class="path"><summary>because of ${count(each.path_length, "link")}</summary><ol class="plain-list">${each.path.map((edge, step) => html`<li key=${step}><${Named} id=${edge.source} titles=${titles} /> <span class="rel">${edge.rel}</span> <${Named} id=${edge.target} titles=${titles} /></li>`)}</ol>${each.path_length > each.path.length && html`<p class="faint">and ${(each.path_length - each.path.length).toLocaleString("en")} more</p>`}</details>`}
    </li>`)}</ul>
    ${!all && links.length > few && html`<button type="button" class="small" onClick=${() => setAll(true)}>all ${links.length}</button>`}`;
}

const Named = ({ id, titles }) => html`<${Link} to=${fileAt(id)}>${(Object.hasOwn(titles, id) && titles[id]) || id}<//>`;

function LinkEnd({ end }) {
  if (end.kind === "file") return html`<${Link} to=${fileAt(end.id)}><bdi>${end.title || end.id}</bdi><//>${end.archived && html` <${Badge}>archived<//>`}`;
  if (end.kind === "reference") return html`<${Ref} to=${end.id} />`;
  return html`<code>${end.id}</code>${end.kind === "missing" && html` <${Badge} kind="warn">missing<//>`}`;
}

export function Findings({ file }) {
  const [asked, setAsked] = useState(file.bytes < 1_000_000);
  const found = useAnswer(asked ? `/files/${part(file.id)}/findings` : null);
  if (!asked) return html`<${Panel} title="Format" id="format"><button type="button" class="small" onClick=${() => setAsked(true)}>check it against the format</button><//>`;
  if (!found.answer || !found.answer.findings.length) return null;
  return html`<${Panel} title="Format" id="format"><ul class="plain-list">${found.answer.findings.slice(0, 50).map((each, at) => html`<li key=${at}><code>${each.rule}</code> ${each.line !== null && html`<span class="faint">line ${each.line}</span>`} <div class="soft">${each.message}</div>${each.hint && html`<div class="faint">${each.hint}</div>`}</li>`)}</ul><//>`;
}
