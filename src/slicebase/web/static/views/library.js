// The library: search as you type over files and turns together; without words, the list of files.
import { useAnswer, useGrowth, usePages } from "slicebase/lib/api.js";
import { FileLine } from "slicebase/lib/files.js";
import { html } from "slicebase/lib/html.js";
import { useSaid } from "slicebase/lib/keyboard.js";
import { choose, href, Link } from "slicebase/lib/router.js";
import { Answered, Badge, Busy, Copy, count, Empty, Marked, More, Panel, placeOf, ProblemBox, Ref, SearchBox, shortName, When } from "slicebase/lib/ui.js";
import { FileFilters, QueryFilters } from "slicebase/views/library_filters.js";

const FILTERS = ["kind", "type", "rel", "meta", "fresher_than", "label", "archived"];

export function Library({ route }) {
  const { q = "" } = route.query;
  const words = q.trim();
  return html`<h1>Library</h1>
    <div class="row"><${SearchBox} value=${q} onWords=${(text) => choose({ q: text })} label="Search files and turns" placeholder=${'words, identifiers, "exact text", role:user, kind:error …'} autofocus=${!q} /></div>
    <${QueryFilters} q=${q} />
    <${FileFilters} query=${route.query} searching=${Boolean(words)} />
    ${words ? html`<${Found} q=${words} query=${route.query} />` : html`<${Files} query=${route.query} />`}`;
}

const chosen = (query) => Object.fromEntries(FILTERS.map((name) => [name, query[name]]));

// The list

const ORDERS = [["changed", "last changed"], ["oldest", "longest unchanged"], ["title", "title"], ["type", "type"]];

function Files({ query }) {
  const order = ORDERS.some(([name]) => name === query.order) ? query.order : "changed";
  const pages = usePages("/files", { ...chosen(query), order, limit: 50 }, "files");
  useGrowth(({ library, began }) => (library || began) && pages.again());
  const total = pages.first ? pages.first.total : 0;
  const unreadable = pages.first ? pages.first.unreadable : 0;
  const aside = html`<label>order <select value=${order} onChange=${(event) => choose({ order: event.currentTarget.value === "changed" ? null : event.currentTarget.value })}>${ORDERS.map(([name, text]) => html`<option key=${name} value=${name}>${text}</option>`)}</select></label>`;
  return html`<${Panel} title=${pages.first ? count(total, "file") : "Files"} id="files" aside=${aside}>
    ${unreadable > 0 && html`<p class="soft"><${Badge} kind="bad">${unreadable}<//> cannot be read: <${Link} to="/proof?show=doctor">the doctor says why<//></p>`}
    <ul class="plain-list">${pages.items.map((file) => html`<${FileLine} key=${file.file} file=${file} />`)}</ul>
    ${pages.first && !total && html`<${Empty}>No file passes these filters.<//>`}
    <${More} pages=${pages} />
  <//>`;
}

// What a search found

const MOST = 100;

function Found({ q, query }) {
  const params = { ...chosen(query), q, former_rows: query.former_rows, either: query.either, limit: query.limit || 10 };
  const asked = useAnswer("/search", params);
  useGrowth(({ library, began }) => (library || began) && asked.again());
  const { answer } = asked;
  useSaid(answer && !asked.problem ? `For ${q}: ${count(answer.total, "file")}, ${answer.exact ? "" : "at least "}${count(answer.total_turns, "turn")}.` : "");
  if (asked.problem) return html`<${ProblemBox} problem=${asked.problem} again=${asked.again} />`;
  if (!asked.answer) return html`<${Busy}>searching …<//>`;
  const found = asked.answer;
  const isAll = [found, found.rest].every((each) => !each || isComplete(each));
  const nothing = !found.files.length && !found.sessions.length;
  return html`<div class=${asked.busy ? "searching" : ""}>
    <p class="soft">
      ${nothing ? "Nothing found." : html`${count(found.total, "file")}, ${found.exact ? "" : "at least "}${count(found.total_turns, "turn")}`}
      ${found.partial && html` <${Badge} kind="warn">some words only<//> nothing has all words`}
      ${found.by_parts && html` <${Badge} kind="warn">by parts<//> nothing has the identifier as it is`}
      ${found.unreadable > 0 && html` · ${count(found.unreadable, "file")} cannot be read`}
    </p>
    ${found.hints.map((hint) => html`<p key=${hint} class="hint">${hint}</p>`)}
    <${Hits} found=${found} q=${q} />
    ${found.rest && html`<h2 class="rest">Only some of the words</h2>
      <p class="soft">${count(found.rest.total, "file")}, ${found.rest.exact ? "" : "at least "}${count(found.rest.total_turns, "turn")}</p>
      <${Hits} found=${found.rest} q=${q} name="rest" />`}
    ${!isAll && (params.limit < MOST
      ? html`<button type="button" onClick=${() => choose({ limit: Math.min(MOST, Number(params.limit) * 3) })}>show more</button>`
      : html`<p class="soft">A search shows the best ${MOST} files and sessions. More words, or the filters above, find the others.</p>`)}
  </div>`;
}

/** Whether all that was found is listed, but for the turns that a session's own list has. */
function isComplete({ files, total, sessions, total_turns: turns }) {
  const alone = sessions.length === 1 && sessions[0].more > 0;
  return files.length >= total && !alone && sessions.reduce((sum, each) => sum + each.turns.length + each.more, 0) >= turns;
}

const OF_A_SESSION = /(?:^|\s)session:/;

function Hits({ found, q, name = "found" }) {
  return html`<div class="columns found">
    ${found.files.length > 0 && html`<${Panel} title="Files" id=${`${name}-files`} aside=${`${found.files.length} of ${found.total.toLocaleString("en")}`}>
      <ul class="plain-list">${found.files.map((file) => html`<${Hit} key=${file.file} file=${file} />`)}</ul><//>`}
    ${found.sessions.length > 0 && html`<${Panel} title="Turns" id=${`${name}-turns`} aside=${`${found.exact ? "" : "at least "}${count(found.total_turns, "turn")}`}>
      ${found.sessions.map((session) => html`<${SessionHit} key=${session.ref} session=${session} q=${q} alone=${OF_A_SESSION.test(q)} />`)}<//>`}
  </div>`;
}

function Hit({ file }) {
  return html`<${FileLine} file=${file} marks=${file.title_marks}>
    ${file.passages.length ? html`<ul class="plain-list passages">${file.passages.map((each, at) => html`<li key=${at}>
      <${Link} class="passage" to=${placeOf(each.ref) || "/library"} dir="auto"><bdi><${Marked} text=${each.text} marks=${each.marks} /></bdi><//>
      <span class="faint">${each.line !== null && `line ${each.line}`}</span></li>`)}</ul>` : html`<div class="soft clip-2" dir="auto">${file.summary}</div>`}
    ${file.more > 0 && html`<div class="faint">and ${count(file.more, "more passage")}</div>`}
  <//>`;
}

function SessionHit({ session, q, alone }) {
  return html`<section class="session-hit" aria-label=${session.title || session.prompt || session.ref}>
    <h3 dir="auto"><${Ref} to=${session.ref}>${session.title || session.prompt || shortName(session.ref.slice(8))}<//> <span class="faint">${[session.project, session.branch, session.date].filter(Boolean).join(" · ")}</span></h3>
    <ul class="plain-list passages">${session.turns.map((turn) => html`<li key=${turn.ref}>
      <span class=${`role role-${turn.role}`}>${turn.role}</span>
      <${Link} class="passage" to=${placeOf(turn.ref)} dir="auto"><bdi>${turn.snippet === null ? "purged" : html`<${Marked} text=${turn.snippet} marks=${turn.marks} />`}</bdi><//>
      <span class="faint"><${When} time=${turn.time} /></span></li>`)}</ul>
    <div class="row faint">${session.more > 0 && (alone ? html`<span>and ${count(session.more, "more turn")}</span>` : html`<${Link} to=${href("/library", { q: `${q} session:${session.ref.slice(8)}` })}>and ${count(session.more, "more turn")}<//>`)}
      ${session.resume && html`<${Copy} text=${session.resume} label="copy the command that resumes it" />`}</div>
  </section>`;
}
