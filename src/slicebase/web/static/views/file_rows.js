// The rows of a log as a table: what holds now, and folded below it what it replaced.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAnswer, useLater, usePages } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { choose } from "slicebase/lib/router.js";
import { Code } from "slicebase/lib/text.js";
import { Badge, Busy, bytes, count, Empty, More, Panel, ProblemBox, When } from "slicebase/lib/ui.js";
import { CitedNote, useCited } from "slicebase/views/file_cited.js";

const part = encodeURIComponent;

const MOST_COLUMNS = 4;

/** The fields that have a column of their own: those that most rows have, `text` first. */
function columnsOf(groups) {
  const counts = new Map();
  for (const row of groups.slice(0, 50).flatMap((group) => [...group.current, ...group.former])) {
    for (const field of row.fields) counts.set(field.name, (counts.get(field.name) || 0) + 1);
  }
  const names = [...counts.keys()].sort((one, other) => (other === "text") - (one === "text") || counts.get(other) - counts.get(one));
  return names.slice(0, MOST_COLUMNS);
}

export function Rows({ file, query }) {
  const pages = usePages(`/files/${part(file.id)}/rows`, { limit: 50 }, "groups");
  useLater(pages.again, file.version);
  const found = pages.first;
  const cited = query.at && query.at.startsWith("row:") ? query.at.slice(query.at.indexOf("/") + 1) : "";
  const open = query.row || cited;
  const columns = useMemo(() => columnsOf(found ? found.groups : []), [found]);
  const aside = found && html`${count(found.active, "row")} of ${found.rows.toLocaleString("en")} ${found.active === 1 ? "holds" : "hold"}`;
  return html`${open && html`<${OneRow} key=${open} file=${file} row=${open} query=${query} cited=${Boolean(cited)} />`}
    <${Panel} title="Rows" id="content" aside=${aside}>
    ${found && found.forks > 0 && html`<p class="problem">${count(found.forks, "fact")} ${found.forks === 1 ? "has" : "have"} two current rows: each replaces the same row, and neither the other. A row that supersedes both decides.</p>`}
    ${found && found.unreadable > 0 && html`<p class="soft"><${Badge} kind="warn">${found.unreadable}<//> ${found.unreadable === 1 ? "line is" : "lines are"} no row</p>`}
    ${pages.items.length > 0 && html`<${RowTable} groups=${pages.items} columns=${columns} chosen=${open} />`}
    ${found && !pages.items.length && html`<${Empty}>There are no rows yet.<//>`}
    <${More} pages=${pages} />
  <//>`;
}

function RowTable({ groups, columns, chosen }) {
  return html`<table class="rows"><thead><tr>${columns.map((name) => html`<th key=${name} scope="col"><bdi>${name}</bdi></th>`)}<th scope="col">row</th></tr></thead>
    ${groups.map((group) => html`<${Group} key=${(group.current[0] || group.former[0]).ref} group=${group} columns=${columns} chosen=${chosen} />`)}</table>`;
}

function Group({ group, columns, chosen }) {
  const [open, setOpen] = useState(false);
  const isForked = group.current.length > 1;
  const heads = group.current.length ? group.current : group.former.slice(0, 1);
  const others = group.current.length ? group.former : group.former.slice(1);
  const number = others.length + group.more;
  const line = (row) => html`<${RowLine} key=${row.ref + row.line} row=${row} columns=${columns} chosen=${row.id === chosen} />`;
  return html`<tbody class=${isForked ? "forked" : ""}>
    ${isForked && html`<tr class="row-note"><td colspan=${columns.length + 1}><${Badge} kind="bad">two heads<//> <span class="soft">${count(group.current.length, "current row")} for one fact</span></td></tr>`}
    ${heads.map(line)}
    ${number > 0 && html`<tr class="row-note"><td colspan=${columns.length + 1}><button type="button" class="small" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "hide" : "show"} ${count(number, "former version")}</button></td></tr>`}
    ${open && others.map(line)}
    ${open && group.more > 0 && html`<tr class="row-note"><td colspan=${columns.length + 1} class="faint">and ${group.more} older</td></tr>`}
  </tbody>`;
}

function RowLine({ row, columns, chosen }) {
  const fields = new Map(row.fields.map((field) => [field.name, field]));
  const others = row.fields.filter((field) => !columns.includes(field.name));
  return html`<tr class=${`${row.holds ? "" : "gone"} ${chosen ? "chosen" : ""}`}>
    ${columns.map((name, at) => html`<td key=${name} data-label=${name} class=${fields.has(name) ? "" : "none"}>${fields.has(name) && html`<${Value} row=${row} field=${fields.get(name)} />`}
      ${at === 0 && others.length > 0 && html`<dl class="row-fields">${others.map((field) => html`<div key=${field.name}><dt><bdi>${field.name}</bdi></dt><dd><${Value} row=${row} field=${field} /></dd></div>`)}</dl>`}</td>`)}
    <td data-label="row" class="about"><${RowFacts} row=${row} /></td>
  </tr>`;
}

function Value({ row, field }) {
  const cut = field.characters > field.value.length && html`… <button type="button" class="small" onClick=${() => choose({ row: row.id, at: null, cited: null }, { replace: false })}>all ${field.characters.toLocaleString("en")} characters</button>`;
  return html`<span class="value" dir="auto">${field.is_text ? html`<bdi>${field.value}</bdi>` : html`<code>${field.value}</code>`}${cut}</span>`;
}

/** What a row says about itself. */
function RowFacts({ row }) {
  return html`<div class="row-facts faint">
    <button type="button" class="small mono" onClick=${() => choose({ row: row.id, at: null, start: null, end: null, cited: null }, { replace: false })} title=${row.ref}>${row.id.length > 12 ? `…${row.id.slice(-6)}` : row.id}</button>
    ${row.time ? html`<${When} time=${row.time} />` : html`<span>undated</span>`}
    ${!row.holds && html`<${Badge}>${row.status && row.status !== "active" ? row.status : "superseded"}<//>`}
    ${row.confidence !== null && html`<span>confidence ${row.confidence}</span>`}
    ${row.agent && html`<span>by ${row.agent}</span>`} ${row.source && html`<span>from ${row.source}</span>`}
    ${row.bytes > 2000 && html`<span>${bytes(row.bytes)}</span>`}
  </div>`;
}

/** One row in full, with its cited words marked, its JSON and its history. */
function OneRow({ file, row, query, cited }) {
  const [start, setStart] = useState(0);
  const place = useCited(query);
  const asked = useAnswer(`/files/${part(file.id)}/rows/${row.split("/").map(part).join("/")}`, { start });
  const here = useRef(null);
  useEffect(() => { if (asked.answer && here.current && start === 0) here.current.scrollIntoView({ block: "nearest" }); }, [Boolean(asked.answer)]);
  const close = html`<button type="button" class="small" onClick=${() => choose({ row: null, at: null, start: null, end: null, cited: null })}>close</button>`;
  return html`<${Panel} title=${cited ? "The cited row" : "One row"} id="one-row" aside=${close} class="one-row"><div ref=${here}>
    ${asked.problem && html`<${ProblemBox} problem=${asked.problem} />`}
    ${!asked.answer && !asked.problem && html`<${Busy} />`}
    ${asked.answer && html`
      <${RowFacts} row=${asked.answer.row} />
      ${cited && html`<${CitedNote} cited=${place} />`}
      <${RowText} answer=${asked.answer} span=${cited ? place.span : null} />
      ${asked.answer.total > asked.answer.end - asked.answer.start && html`<p class="row">
        <span class="faint">characters ${asked.answer.start.toLocaleString("en")} to ${asked.answer.end.toLocaleString("en")} of ${asked.answer.total.toLocaleString("en")}</span>
        <button type="button" class="small" disabled=${asked.answer.start === 0} onClick=${() => setStart(0)}>beginning</button>
        <button type="button" class="small" disabled=${asked.answer.end >= asked.answer.total} onClick=${() => setStart(asked.answer.end)}>read on</button></p>`}
      <details><summary>JSON</summary><${Code} text=${asked.answer.json} language="json" />${asked.answer.json_characters > asked.answer.json.length && html`<p class="faint">the first ${asked.answer.json.length.toLocaleString("en")} of ${asked.answer.json_characters.toLocaleString("en")} characters</p>`}</details>
      ${asked.answer.group.current.length + asked.answer.group.former.length > 1 && html`<h3>Versions</h3><${RowTable} groups=${[asked.answer.group]} columns=${columnsOf([asked.answer.group])} chosen=${asked.answer.row.id} />`}`}
  </div><//>`;
}

function RowText({ answer, span }) {
  if (!span || answer.start > 0) return html`<pre class="row-body" dir="auto">${answer.text}</pre>`;
  const letters = Array.from(answer.text);
  const end = span.end === null ? letters.length : span.end;
  return html`<pre class="row-body cited" dir="auto">${letters.slice(0, span.start).join("")}<mark>${letters.slice(span.start, end).join("")}</mark>${letters.slice(end).join("")}</pre>`;
}
