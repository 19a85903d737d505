// Why something is believed: from a claim, a file or a context to the quoted bytes, drawn as a diagram.
import { useState } from "preact/hooks";
import { useAnswer } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { choose, href, Link } from "slicebase/lib/router.js";
import { Answered, Badge, Busy, count, Empty, LARGER, Panel, placeOf, ProblemBox, Ref, shortRef } from "slicebase/lib/ui.js";

const WIDTH = 252 * LARGER;
const HEIGHT = 104 * LARGER;
const ACROSS = 52;
const DOWN = 14;
const EDGE = 12;

const left = (node) => EDGE + node.depth * (WIDTH + ACROSS);
const top = (node) => EDGE + node.row * (HEIGHT + DOWN);

export function Why({ route }) {
  const { ref = "" } = route.query;
  const forward = route.query.forward === "true";
  return html`<nav class="faint" aria-label="Way back"><${Link} to="/proof">Proof<//> ›</nav><h1>Why</h1>
    <${Asking} key=${ref} given=${ref} />
    ${ref ? html`<${Shown} reference=${ref} forward=${forward} />` : html`<${Examples} />`}`;
}

function Asking({ given }) {
  const [words, setWords] = useState(given);
  const ask = (event) => {
    event.preventDefault();
    if (words.trim()) choose({ ref: words.trim() }, { replace: false });
  };
  return html`<form class="row why-form" onSubmit=${ask}><label class="grow">reference <input type="text" class="wide mono" value=${words} onInput=${(event) => setWords(event.currentTarget.value)} placeholder="claim:RUN/ID, file:ID, mf_…, sn_…, ev_…, turn:ID" spellcheck=${false} /></label><button type="submit" class="main">explain</button></form>`;
}

function Examples() {
  const runs = useAnswer("/runs", { limit: 5 });
  const files = useAnswer("/stale", { limit: 3 });
  return html`<${Panel} title="What can be explained" id="examples">
    <p class="soft">A claim, evidence, a snapshot, a run, a slice file, a recorded context, and every text that can be cited. Each tree ends at quoted text with its hash.</p>
    ${runs.busy && !runs.answer && html`<${Busy} />`}
    <ul>${runs.answer && runs.answer.runs.map((each) => { const name = `run:${each.run.replace(/^run:/, "")}`; return html`<li key=${name}><${Link} to=${href("/proof/why", { ref: name })}>${name}<//> <span class="soft">${each.objective}</span></li>`; })}
      ${files.answer && files.answer.files.map((each) => html`<li key=${each.id}><${Link} to=${href("/proof/why", { ref: `file:${each.id}` })}>file:${each.id}<//> <span class="soft">${each.title}</span></li>`)}</ul>
  <//>`;
}

function Shown({ reference, forward }) {
  const asked = useAnswer("/why", { ref: reference, forward });
  const asList = html`<label><input type="checkbox" checked=${forward} onChange=${() => choose({ forward: forward ? null : "true" })} /> forward: what rests on it</label>`;
  if (asked.problem) return html`<${ProblemBox} problem=${asked.problem} again=${asked.again} />`;
  return html`<${Panel} title=${forward ? "What rests on it" : "What it rests on"} id="tree" aside=${asList}>
    <${Answered} asked=${asked}>${(found) => html`<${Tree} found=${found} forward=${forward} />`}<//>
  <//>`;
}

function Tree({ found, forward }) {
  const width = EDGE * 2 + found.columns * (WIDTH + ACROSS) - ACROSS;
  const height = EDGE * 2 + found.rows * (HEIGHT + DOWN) - DOWN;
  return html`${found.nodes.length === 1 && html`<${Empty}>${forward ? "Nothing rests on it." : "It rests on nothing else that is stored: it is a text itself."}<//>`}
    <div class="scroll why-box" tabindex="0" role="group" aria-label="Diagram of reasons; the same is below as a list"><div class="why-tree" style=${{ width: `${width}px`, height: `${height}px` }}>
      <svg width=${width} height=${height} aria-hidden="true">${found.nodes.map((node, at) => {
        if (node.parent < 0) return null;
        const parent = found.nodes[node.parent];
        const [x1, y1, x2, y2] = [left(parent) + WIDTH, top(parent) + HEIGHT / 2, left(node), top(node) + HEIGHT / 2];
        const half = (x1 + x2) / 2;
        return html`<path key=${at} d=${`M${x1},${y1} C${half},${y1} ${half},${y2} ${x2},${y2}`} />`;
      })}</svg>
      ${found.nodes.map((node, at) => html`<${Card} key=${at} node=${node} nodes=${found.nodes} />`)}
    </div></div>
    <details class="outline"><summary>as a list</summary><${List} nodes=${found.nodes} of=${-1} /></details>`;
}

const KINDS = { __proto__: null, claim: "planning", evidence: "consolidation", chunk: "exploration", file: "synthesis", context: "debugging", snapshot: "debugging", run: "planning", conflict: "bad" };

/** The address of what a node names; that of evidence, and of the chunk that it quotes, is the quote in its place. */
function where(node, nodes) {
  const by = node.quote ? node : node.kind === "chunk" && node.parent >= 0 ? nodes[node.parent] : null;
  const quote = by && by.quote;
  return quote ? placeOf(quote.chunk, { start: quote.start, end: quote.end }, quote.file, by.ref) : placeOf(node.ref);
}

function Card({ node, nodes }) {
  const to = where(node, nodes);
  return html`<article class=${`why-card ${KINDS[node.kind] || ""}`} style=${{ left: `${left(node)}px`, top: `${top(node)}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` }}>
    <header><span class="kind">${node.kind}</span> ${to ? html`<${Link} class="ref" to=${to} title=${node.quote ? "the quote, in its place" : node.ref}>${shortRef(node.ref)}<//>` : html`<span class="ref" title=${node.ref}>${shortRef(node.ref)}</span>`}${node.left_out > 0 && html`<${Badge} kind="warn" title="not drawn">+${node.left_out}<//>`}</header>
    <p class=${`text ${node.kind === "evidence" ? "quote" : ""}`} dir="auto" title=${node.text}><bdi>${node.text || ""}</bdi></p>
    <p class="note" title=${node.quote ? `${node.note}, ${node.quote.hash}` : node.note}>${node.note}${node.quote && html`<code> ${node.quote.hash.slice(0, 18)}…</code>`}</p>
  </article>`;
}

function List({ nodes, of }) {
  const children = nodes.map((node, at) => [node, at]).filter(([node]) => node.parent === of);
  if (!children.length) return null;
  return html`<ul class="why-list">${children.map(([node, at]) => html`<li key=${at}><span class="kind">${node.kind}</span> <${Ref} to=${node.ref} />${node.text && html` <bdi>${node.text}</bdi>`} <span class="faint">${node.note}</span>${node.quote && html` <code class="hash">${node.quote.hash}</code>`}${node.left_out > 0 && html` <span class="faint">${count(node.left_out, "more reason")} not shown</span>`}<${List} nodes=${nodes} of=${at} /></li>`)}</ul>`;
}
