// Slice files as lists show them.
import { html } from "slicebase/lib/html.js";
import { Link } from "slicebase/lib/router.js";
import { Badge, bytes, count, Freshness, Marked, When } from "slicebase/lib/ui.js";

export const fileAt = (id) => `/file/${encodeURIComponent(id)}`;

/** The states of a file: how fresh it is (a source, a note or a document that changed counts more than its age), archived, purged. */
export function States({ file }) {
  const { label, derivation } = file.freshness;
  const reason = derivation === "stale" ? "its source has changed" : file.note === "changed" ? "the note has changed" : file.note === "missing" ? "the note cannot be read" : file.payload_state === "changed" ? "the document that it points to has changed" : file.payload_state === "missing" ? "the document that it points to cannot be read" : "";
  const what = derivation === "stale" ? "source" : file.note ? "note" : "document";
  const how = file.note === "missing" || file.payload_state === "missing" ? "missing" : "changed";
  return html`${file.purged
      ? html`<${Badge} kind="bad" title="its content was deleted">purged<//>`
      : reason
        ? html`<${Badge} kind="warn" title=${reason}>stale: ${what} ${derivation === "stale" ? "changed" : how}<//>`
        : html`<${Freshness} label=${label} title=${`by its age: ${Math.round(file.freshness.staleness * 100)} % stale`} />`}
    ${derivation === "unknown" && html` <${Badge} title="what it is derived from is not here">source unknown<//>`}
    ${file.archived && html` <${Badge} title="forgotten: not found by default">archived<//>`}`;
}

/** What a file is: a note and a pointer have no body of a type. */
export const typeOf = (file) => (file.kind !== "pointer" ? file.type : file.path || file.note ? "note" : "pointer");

const size = (file) => (file.type === "jsonl" ? count(file.rows, "row") : bytes(file.bytes));

/** A file in a list: its title leads to it. */
export function FileLine({ file, marks, children }) {
  return html`<li class="file-line">
    <div class="file-head">
      <${Link} to=${fileAt(file.id)} class="file-title"><bdi><${Marked} text=${file.title || file.id} marks=${marks} /></bdi><//>
      <span class="badges"><${Badge}>${typeOf(file)}<//> <${States} file=${file} /></span>
      <span class="space"></span>
      <span class="faint num">${size(file)} · <${When} time=${file.changed} dateOnly /></span>
    </div>
    ${children || (file.summary && html`<div class="soft clip-2" dir="auto">${file.summary}</div>`)}
  </li>`;
}

const LABELS = ["FRESH", "AGING", "STALE", "DECAYED"];

/** How fresh the files are, as one bar; each part leads to its files. */
export function FreshnessBar({ counts }) {
  const total = LABELS.reduce((sum, label) => sum + (counts[label] || 0), 0);
  if (!total) return null;
  const shown = LABELS.filter((label) => counts[label]);
  return html`<div class="freshness">
    <div class="freshness-bar" aria-hidden="true">${shown.map((label) => html`<span key=${label} class=${label.toLowerCase()} style=${{ flexGrow: counts[label] }}></span>`)}</div>
    <ul class="legend">${shown.map((label) => html`<li key=${label}><span class=${`dot ${label.toLowerCase()}`}></span><${Link} to=${`/library?label=${label}`}>${counts[label].toLocaleString("en")} ${label.toLowerCase()}<//></li>`)}</ul>
  </div>`;
}
