// What a run knows, now or at a snapshot: claims, conflicts, questions and failures; and cited text in its place.
import { useState } from "preact/hooks";
import { part, useAnswer, useLater, usePages } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { choose, href, Link } from "slicebase/lib/router.js";
import { Answered, Badge, Empty, More, placeOf, Ref } from "slicebase/lib/ui.js";

const STATUS = { __proto__: null, verified: "good", candidate: "", retracted: "bad", open: "warn", resolved: "good", found: "good", changed: "warn", gone: "bad", purged: "", unknown: "warn" };

/** The status of an item or of a quote. */
export const ItemStatus = ({ value }) => (value ? html`<${Badge} kind=${STATUS[value] || ""}>${value}<//>` : null);

const ends = (text, limit, atEnd) => {
  const letters = Array.from(text);
  if (letters.length <= limit) return text;
  return atEnd ? `…${letters.slice(-limit).join("")}` : `${letters.slice(0, limit).join("")}…`;
};

/** The cited text with what stands around it now, and whether it is still there. */
function Place({ evidence }) {
  const asked = useAnswer(`/evidence/${part(evidence)}`, { around: 400 });
  return html`<${Answered} asked=${asked}>${(found) => {
    const place = placeOf(found.chunk_id, found.now, found.file, found.evidence_id);
    return html`<div class="place">
      <div class="row">
        <${ItemStatus} value=${found.status} />
        ${!found.sound && html`<${Badge} kind="bad" title="its id, hash, span and quote do not agree">not sound<//>`}
        <${Ref} to=${found.chunk_id} span=${found.now} file=${found.file} cited=${found.evidence_id} />
        ${found.role && html`<span class="faint">${found.role}</span>`}
        ${found.time && html`<time class="faint" datetime=${found.time}>${found.time.slice(0, 16).replace("T", " ")}</time>`}
        <span class="faint num">characters ${found.span.start}–${found.span.end} of ${found.length.toLocaleString("en")}</span>
        <span class="space"></span>
        ${place && html`<${Link} to=${place}>open in its place<//>`}
        <${Link} to=${href("/proof/why", { ref: found.evidence_id })}>why<//>
      </div>
      ${found.now
        ? html`<blockquote dir="auto"><span class="faint">${ends(found.before, 400, true)}</span><mark>${found.quote}</mark><span class="faint">${ends(found.after, 400, false)}</span></blockquote>`
        : found.quote !== null && html`<blockquote dir="auto"><s>${found.quote}</s></blockquote>`}
    </div>`;
  }}<//>`;
}

const BECOME = {
  __proto__: null,
  changed: "the text has changed since it was cited",
  gone: "the text that was cited is not there any more",
  purged: "",
  unknown: "the text that was cited cannot be read",
};

/** A quote that something rests on; it opens with the text around it. What is not as it was cited says so before. */
export function QuoteLine({ quote }) {
  const [open, setOpen] = useState(false);
  const status = quote.status || "unknown";
  const words = quote.quote === null ? "The words were purged." : `“${ends(quote.quote.replace(/\s+/g, " "), 160, false)}”`;
  return html`<li class=${`quote ${status}`}>
    <button type="button" class="plain-button" aria-expanded=${open} onClick=${() => setOpen(!open)}><span dir="auto">${words}</span></button>
    ${status !== "found" && html` <${ItemStatus} value=${status} /> <span class="soft">${BECOME[status]}</span>`}
    <span class="faint"><${Ref} to=${quote.chunk_id} span=${quote.span} cited=${quote.evidence_id} /></span>
    ${open && html`<${Place} evidence=${quote.evidence_id} />`}
  </li>`;
}

const Quotes = ({ quotes }) => (quotes.length ? html`<ul class="quotes">${quotes.map((each, at) => html`<${QuoteLine} key=${each.evidence_id + at} quote=${each} />`)}</ul>` : null);

/** Choices with their numbers, of which one may be chosen. */
function Choices({ name, counts, total, chosen }) {
  const all = Object.entries(counts).filter(([, number]) => number);
  if (all.length < 2 && !chosen) return null;
  return html`<div class="choices" role="group" aria-label=${name}>
    ${[["", total], ...all].map(([value, number]) => html`<button type="button" class="small" aria-pressed=${value === chosen} key=${value} onClick=${() => choose({ [name]: value })}>${value || "all"} <span class="faint num">${number.toLocaleString("en")}</span></button>`)}
  </div>`;
}

export function ClaimItem({ item, run }) {
  return html`<div class="item">
    <div class="row"><${ItemStatus} value=${item.status} />${item.kind && html`<${Badge}>${item.kind}<//>`}${item.claim_id ? html`<${Ref} to=${`claim:${run}/${item.claim_id}`}>${item.claim_id}<//>` : html`<span class="faint">no id</span>`}
      ${item.changed !== item.since && html`<span class="faint">changed in snapshot ${item.changed}</span>`}</div>
    <p dir="auto" class="stated">${item.statement}</p>
    <${Quotes} quotes=${item.evidence} />
    ${!item.evidence.length && item.status === "verified" && html`<p class="faint">Nothing is cited.</p>`}
  </div>`;
}

export function ConflictItem({ item }) {
  return html`<div class="item">
    <div class="row"><${ItemStatus} value=${item.status} /><code>${item.conflict_id}</code></div>
    <p dir="auto" class="stated">${item.description}</p>
    <div class="sides">
      ${[["One side", item.side_a], ["Other side", item.side_b]].map(([name, quotes]) => html`<div key=${name}><h3>${name}</h3>${quotes.length ? html`<${Quotes} quotes=${quotes} />` : html`<p class="faint">nothing is cited</p>`}</div>`)}
    </div>
  </div>`;
}

export function FailureItem({ item }) {
  return html`<div class="item">
    <div class="row"><${ItemStatus} value=${item.status} /><${Badge}>${item.category}<//><code dir="auto">${item.where}</code><span class="faint">${item.failure_id}</span></div>
    <p dir="auto" class="stated mono">${item.why}</p>
  </div>`;
}

/** The claims, conflicts, failures or questions of a run (`/runs/…`), which has so many `events`, or a snapshot (`/snapshots/…`). */
export function Items({ owner, kind, route, run, events = 0 }) {
  const status = route.query.status || "";
  const claimKind = kind === "claims" ? route.query.kind || "" : "";
  const params = kind === "questions" ? { limit: 50 } : { limit: 50, status, kind: claimKind };
  const pages = usePages(`${owner}/${kind}`, params, kind);
  useLater(pages.again, events);
  const shown = {
    claims: (item) => html`<${ClaimItem} item=${item} run=${run} />`,
    conflicts: (item) => html`<${ConflictItem} item=${item} />`,
    failures: (item) => html`<${FailureItem} item=${item} />`,
    questions: (text) => html`<p dir="auto" class="stated">${text}</p>`,
  }[kind];
  const total = pages.first && kind !== "questions" ? Object.values(pages.first.statuses).reduce((sum, number) => sum + number, 0) : 0;
  return html`
    ${pages.first && kind !== "questions" && html`<div class="row"><${Choices} name="status" counts=${pages.first.statuses} total=${total} chosen=${status} />${kind === "claims" && html`<${Choices} name="kind" counts=${pages.first.kinds} total=${total} chosen=${claimKind} />`}</div>`}
    <ol class="items">${pages.items.map((item, at) => html`<li key=${at}>${shown(item)}</li>`)}</ol>
    ${!pages.items.length && !pages.busy && !pages.problem && html`<${Empty}>No ${kind}.<//>`}
    <${More} pages=${pages} />`;
}
