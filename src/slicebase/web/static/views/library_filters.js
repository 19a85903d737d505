// The filters of a search: those that are words of the query, as chips, and those of files.
import { useState } from "preact/hooks";
import { html } from "slicebase/lib/html.js";
import { choose } from "slicebase/lib/router.js";

const KINDS = ["prompt", "answer", "thinking", "call", "result", "error", "summary", "code", "media", "turn", "file", "context", "pointer"];
const ROLES = ["user", "assistant", "system", "tool"];
// Each filter of the query, with its values or what to type.
const NAMES = [
  ["kind", KINDS],
  ["role", ROLES],
  ["session", "id of a session"],
  ["tool", "name of a tool"],
  ["file", "path or name"],
  ["project", "folder"],
  ["after", "2026-01-31, yesterday, 7d"],
  ["before", "2026-01-31, yesterday, 7d"],
];
const FILTER = /(?<!\S)(-?)(kind|role|session|tool|file|project|after|before):("[^"]*"|[^\s"]+)/g;

const without = (q, text) => q.replace(text, " ").replace(/\s+/g, " ").trim();
const quoted = (value) => (/\s/.test(value) ? `"${value.replaceAll('"', "")}"` : value);

/** The filters of a query, as chips that can be removed, and a way to add one: both change the query's own words. */
export function QueryFilters({ q }) {
  const [name, setName] = useState("kind");
  const [value, setValue] = useState("");
  const values = NAMES.find(([each]) => each === name)[1];
  const add = (given) => {
    if (!given) return;
    choose({ q: `${q} ${name}:${quoted(given)}`.trim() }, { replace: false });
    setValue("");
  };
  const submit = (event) => {
    event.preventDefault();
    add(value.trim());
  };
  const chips = [...q.matchAll(FILTER)].map((match) => match[0]);
  return html`<form class="chips" onSubmit=${submit} aria-label="Filters of the search">
    ${chips.map((chip, at) => html`<button key=${chip + at} type="button" class="chip on" onClick=${() => choose({ q: without(q, chip) || null }, { replace: false })} aria-label=${`remove ${chip}`}>${chip} <span aria-hidden="true">×</span></button>`)}
    <span class="chip-add"><select aria-label="Filter" value=${name} onChange=${(event) => { setName(event.currentTarget.value); setValue(""); }}>${NAMES.map(([each]) => html`<option key=${each} value=${each}>${each}:</option>`)}</select>
    ${Array.isArray(values)
      ? html`<select aria-label=${`Value of ${name}`} value="" onChange=${(event) => add(event.currentTarget.value)}><option value="">add …</option>${values.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select>`
      : html`<input type="text" aria-label=${`Value of ${name}`} placeholder=${values} value=${value} onInput=${(event) => setValue(event.currentTarget.value)} /> <button type="submit" class="small" disabled=${!value.trim()}>add</button>`}</span>
  </form>`;
}

const TYPES = ["markdown", "jsonl", "text", "yaml", "code", "conversation", "routine", "none"];
const AGES = [["1d", "a day"], ["7d", "a week"], ["30d", "30 days"], ["3mo", "3 months"], ["1y", "a year"]];
const LABELS = ["FRESH", "AGING", "STALE", "DECAYED"];

function Choice({ name, label, value, options, none = "any" }) {
  return html`<label>${label} <select value=${value || ""} onChange=${(event) => choose({ [name]: event.currentTarget.value || null })}>
    <option value="">${none}</option>${options.map((each) => { const [key, text] = Array.isArray(each) ? each : [each, each]; return html`<option key=${key} value=${key}>${text}</option>`; })}</select></label>`;
}

function Flag({ name, label, query }) {
  const on = query[name] === "true";
  return html`<label><input type="checkbox" checked=${on} onChange=${() => choose({ [name]: on ? null : "true" })} /> ${label}</label>`;
}

function Typed({ name, label, query, placeholder }) {
  return html`<label>${label} <input type="text" class="short" value=${query[name] || ""} placeholder=${placeholder} onChange=${(event) => choose({ [name]: event.currentTarget.value.trim() || null })} /></label>`;
}

/** The filters that only files can meet. */
export function FileFilters({ query, searching }) {
  const more = ["rel", "meta", "kind", "former_rows", "either"].some((name) => query[name]);
  return html`<div class="file-filters">
    <${Choice} name="type" label="type" value=${query.type} options=${TYPES} />
    <${Choice} name="label" label="freshness" value=${query.label} options=${LABELS.map((each) => [each, each.toLowerCase()])} />
    <${Choice} name="fresher_than" label="changed within" value=${query.fresher_than} options=${AGES} none="any time" />
    <${Flag} name="archived" label="archived too" query=${query} />
    <details open=${more}><summary>more</summary><span class="file-filters">
      <${Choice} name="kind" label="kind" value=${query.kind} options=${["context", "pointer"]} />
      <${Typed} name="rel" label="has a link" query=${query} placeholder="depends_on" />
      <${Typed} name="meta" label="meta" query=${query} placeholder="owner=payments" />
      ${searching && html`<${Flag} name="former_rows" label="superseded rows too" query=${query} /><${Flag} name="either" label="any of the words" query=${query} />`}
    </span></details>
    ${searching && (query.type || query.rel || query.meta || query.label || query.fresher_than || query.kind) && html`<span class="faint">filters of files leave turns out</span>`}
  </div>`;
}
