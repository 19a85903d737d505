// One slice file: its body, its contract, where it comes from, and what it is linked with.
import { useAnswer, useGrowth } from "slicebase/lib/api.js";
import { fileAt, States, typeOf } from "slicebase/lib/files.js";
import { html } from "slicebase/lib/html.js";
import { choose, Link, useTitle } from "slicebase/lib/router.js";
import { Answered, Badge, bytes, Copy, count, When } from "slicebase/lib/ui.js";
import { Body } from "slicebase/views/file_body.js";
import { Neighbourhood } from "slicebase/views/file_graph.js";
import { Contract, Findings, Links, Origin } from "slicebase/views/file_side.js";

export function FileView({ route }) {
  const id = route.parts[1];
  const asked = useAnswer(`/files/${encodeURIComponent(id)}`);
  useGrowth(({ library, began }) => (library || began) && asked.again());
  return html`<${Answered} asked=${asked} title=${id}>${(file) => html`<${Shown} file=${file} query=${route.query} />`}<//>`;
}

const TABS = [["", "Content"], ["links", "Links"]];

function Shown({ file, query }) {
  useTitle(file.title);
  const show = query.show === "links" ? "links" : "";
  return html`
    <header class="file-header">
      <h1 dir="auto"><bdi>${file.title || file.id}</bdi></h1>
      <div class="row">
        <${Badge}>${typeOf(file)}<//> <${States} file=${file} />
        <span class="faint">changed <${When} time=${file.changed} /> · ${file.type === "jsonl" ? `${count(file.rows, "row")} · ` : ""}${bytes(file.bytes)}</span>
        <span class="space"></span>
        <code class="faint id">${file.id}</code> <${Copy} text=${file.ref} label="copy the reference" />
      </div>
      ${file.summary && html`<p class="soft" dir="auto">${file.summary}</p>`}
      <${Notices} file=${file} />
    </header>
    <nav class="tabs" aria-label="Parts of the file">${TABS.map(([name, text]) => html`<button key=${name} type="button" aria-pressed=${show === name} onClick=${() => choose({ show: name || null }, { replace: false })}>${text}</button>`)}</nav>
    ${show === "links"
      ? html`<${Neighbourhood} id=${file.id} query=${query} /><${Links} id=${file.id} />`
      : html`<div class="file-columns">
          <div class="file-main"><${Body} file=${file} query=${query} /></div>
          <div class="file-side"><${Contract} file=${file} /><${Origin} file=${file} /><${Links} id=${file.id} few=${8} /><${Findings} file=${file} /></div>
        </div>`}`;
}

/** What a reader has to know before the content: archived, purged, stale, due. */
function Notices({ file }) {
  const notices = [];
  const mark = (name, each) => html`${name}${each.at && html` on <${When} time=${each.at} />`}${each.reason && html`: <bdi>${each.reason}</bdi>`}`;
  if (file.purged_by) notices.push(["bad", mark("Its content was purged", file.purged_by)]);
  if (file.archived_by) notices.push(["", mark("Archived", file.archived_by)]);
  for (const why of file.reasons) notices.push(["warn", html`${why.detail}${why.since && html` (since <${When} time=${why.since} dateOnly />)`}`]);
  if (file.part_of) notices.push(["", html`This is a part of <${Link} to=${fileAt(file.part_of)}>${file.part_of}<//>.`]);
  if (!notices.length) return null;
  return html`<ul class="notices">${notices.map(([kind, text], at) => html`<li key=${at} class=${kind}>${text}</li>`)}</ul>`;
}

