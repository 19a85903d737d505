// Home: what is here, what is fresh, what needs a look, the newest sessions and runs, health.
import { useRef, useState } from "preact/hooks";
import { part, useAnswer, useGrowth } from "slicebase/lib/api.js";
import { FileLine, fileAt, FreshnessBar } from "slicebase/lib/files.js";
import { html } from "slicebase/lib/html.js";
import { Link } from "slicebase/lib/router.js";
import { Answered, Badge, Busy, bytes, count, Empty, Facts, Panel, ProblemBox, Ref, When } from "slicebase/lib/ui.js";
import { RunState } from "slicebase/views/runs.js";
import { nameOf } from "slicebase/views/sessions.js";

const FEW = 6;

/** Asks again when something has grown, at most every two seconds. */
function useAgain(...asked) {
  const waiting = useRef(0);
  useGrowth(({ began }) => {
    if (began || waiting.current) return;
    waiting.current = setTimeout(() => {
      waiting.current = 0;
      for (const each of asked) each.again();
    }, 2000);
  });
}

function Number({ value, word, many = `${word}s`, to, more }) {
  const text = html`<strong class="num">${value.toLocaleString("en")}</strong> <span>${value === 1 ? word : many}</span>`;
  return html`<li>${to ? html`<${Link} to=${to}>${text}<//>` : html`<span class="number">${text}</span>`}${more && html`<span class="faint">${more}</span>`}</li>`;
}

function Here({ found }) {
  const files = Object.values(found.files).reduce((sum, each) => sum + each, 0);
  return html`<${Panel} title="What is here" id="here" aside=${found.branch && html`branch <code>${found.branch}</code>`}>
    <ul class="numbers">
      <${Number} value=${files} word="file" to="/library" more=${found.archived ? `and ${found.archived.toLocaleString("en")} archived` : ""} />
      <${Number} value=${found.rows} word="row" />
      <${Number} value=${found.links} word="link" />
      <${Number} value=${found.sessions} word="session" to="/sessions" />
      <${Number} value=${found.turns} word="turn" />
      <${Number} value=${found.contexts} word="context" to="/context" more=${found.contexts ? bytes(found.context_bytes) : ""} />
    </ul>
    ${files > 0 && html`<ul class="legend" aria-label="Files by type">${Object.entries(found.files).map(([type, number]) => html`<li key=${type}><${Link} to=${`/library?type=${encodeURIComponent(type)}`}>${number.toLocaleString("en")} ${type}<//></li>`)}</ul>`}
  <//>`;
}

function Fresh({ counts }) {
  const newest = useAnswer("/files", { limit: FEW });
  useAgain(newest);
  return html`<${Panel} title="What is fresh" id="fresh" aside=${html`<${Link} to="/library">all files<//>`}>
    <${FreshnessBar} counts=${counts} />
    <${Answered} asked=${newest}>${(found) => found.files.length
      ? html`<ul class="plain-list">${found.files.map((file) => html`<${FileLine} key=${file.id} file=${file} />`)}</ul>`
      : html`<${Empty}>There are no slice files yet: <code>tt create</code> and <code>tt remember</code> write them, <code>tt add docs</code> adds notes.<//>`}<//>
  <//>`;
}

const REASONS = {
  __proto__: null,
  age: "have not changed for long",
  "source-changed": "are derived from what has changed",
  "source-missing": "are derived from what is not here",
  "note-changed": "point to notes that have changed",
  "note-missing": "point to notes that cannot be read",
  "payload-changed": "point to documents that have changed",
  "payload-missing": "point to documents that cannot be read",
  due: "are due to be summarized",
};

const isAre = (number, words) => (number === 1 ? words.replace(/^are /, "is ").replace(/^have /, "has ").replace(/^point /, "points ") : words);

/** Checks that take long in a large workspace run when they are asked for. */
const LARGE = 2000;

function Doctor({ files }) {
  const [asked, setAsked] = useState(files <= LARGE);
  const found = useAnswer(asked ? "/doctor" : null);
  if (!asked) return html`<li><button type="button" class="small" onClick=${() => setAsked(true)}>ask the doctor</button> <span class="faint">it reads all ${files.toLocaleString("en")} files</span></li>`;
  if (found.problem) return html`<li><${ProblemBox} problem=${found.problem} again=${found.again} /></li>`;
  if (!found.answer) return html`<li><${Busy}>the doctor looks …<//></li>`;
  const { complaints, total } = found.answer;
  if (!total) return html`<li><${Badge} kind="good">well<//> the doctor has no complaints</li>`;
  return html`<li><${Badge} kind="warn">${total}<//> <${Link} to="/proof?show=doctor">${total === 1 ? "complaint" : "complaints"} of the doctor<//>
    <ul class="plain-list small-list">${complaints.slice(0, 3).map((each, at) => html`<li key=${at} class="soft clip-2"><code>${each.place.replace(/^.*[/]/, "")}</code> ${each.message}</li>`)}</ul></li>`;
}

function Attention({ found }) {
  const stale = useAnswer("/stale", { limit: 1 });
  const [most, setMost] = useState(FEW);
  const runs = useAnswer("/attention", { limit: most });
  const isFirst = found && (stale.answer || stale.problem); // what is due is read from the files themselves, after the rest
  const due = useAnswer(isFirst ? "/due" : null, { limit: 3 });
  const files = found ? Object.values(found.files).reduce((sum, each) => sum + each, 0) : 0;
  const broken = found ? found.broken : [];
  useAgain(runs, stale, due);
  return html`<${Panel} title="What needs a look" id="look">
    <ul class="plain-list attention">
      ${broken.length > 0 && html`<li><${Badge} kind="bad">${broken.length}<//> <${Link} to="/proof?show=format">${broken.length === 1 ? "file" : "files"}<//> cannot be read
        <ul class="plain-list small-list">${broken.slice(0, 3).map((each) => html`<li key=${each} class="soft mono">${each}</li>`)}</ul></li>`}
      ${!stale.answer && !stale.problem && html`<li><${Busy} /></li>`}
      ${stale.problem && html`<li><${ProblemBox} problem=${stale.problem} again=${stale.again} /></li>`}
      ${stale.answer && Object.entries(stale.answer.counts).map(([kind, number]) => html`<li key=${kind}><${Badge} kind="warn">${number.toLocaleString("en")}<//> <${Link} to="/proof?show=stale">${number === 1 ? "file" : "files"}<//> ${isAre(number, REASONS[kind] || kind)}</li>`)}
      ${due.answer && due.answer.total > 0 && html`<li><${Badge} kind="warn">${due.answer.total.toLocaleString("en")}<//> <${Link} to="/proof?show=due">${due.answer.total === 1 ? "file" : "files"}<//> ${due.answer.total === 1 ? "asks" : "ask"} for work
        <ul class="plain-list small-list">${due.answer.files.map((each) => html`<li key=${each.id} class="clip-2"><${Link} to=${fileAt(each.id)}>${each.title || each.id}<//> <span class="soft">${each.reasons.map((why) => why.detail).join("; ")}</span></li>`)}</ul></li>`}
      ${runs.problem && html`<li><${ProblemBox} problem=${runs.problem} again=${runs.again} /></li>`}
      ${runs.answer && html`<${RunNeeds} found=${runs.answer} all=${() => setMost(MOST)} />`}
      ${found && html`<${Doctor} files=${files} />`}
    </ul>
    ${stale.answer && !stale.answer.total && due.answer && !due.answer.total && !broken.length && html`<${Empty}>Nothing is stale, and nothing is due.<//>`}
  <//>`;
}

const MOST = 10000;

/** Runs that need a look: unreadable, stopped by the gate, or with something open. */
function RunNeeds({ found, all }) {
  const kinds = [
    ["bad", found.unreadable, found.unreadable_total, "cannot be read", (each) => each.problem],
    ["bad", found.refused, found.refused_total, "did not pass the gate", () => ""],
    ["warn", found.open, found.open_total, (number) => (number === 1 ? "has something open" : "have something open"), openItems],
  ];
  return kinds.filter(([, , total]) => total).map(([kind, runs, total, words, about]) => html`<li key=${words}><${Badge} kind=${kind}>${total.toLocaleString("en")}<//> ${total === 1 ? "run" : "runs"} ${typeof words === "string" ? words : words(total)}
    <ul class="plain-list small-list">${runs.map((each) => html`<li key=${each.run} class="clip-2"><${Ref} to=${`run:${each.run}`} long /> <span class="soft">${about(each)}</span></li>`)}</ul>
    ${total > runs.length && html`<button type="button" class="small" onClick=${all}>all ${total.toLocaleString("en")}</button>`}</li>`);
}

const openItems = ({ conflicts, questions, failures }) =>
  [["conflict", conflicts], ["question", questions], ["failure", failures]].filter(([, number]) => number).map(([word, number]) => count(number, word)).join(", ");

function Sessions() {
  const asked = useAnswer("/sessions", { limit: FEW });
  useAgain(asked);
  return html`<${Panel} title="Newest sessions" id="sessions" aside=${html`<${Link} to="/sessions">all sessions<//>`}>
    <${Answered} asked=${asked}>${(found) => found.rows.length
      ? html`<ul class="plain-list">${found.rows.map((each) => html`<${SessionLine} key=${each.session} each=${each} />`)}</ul>`
      : html`<${Empty}>There are no sessions yet: <code>tt import</code> finds those on this machine.<//>`}<//>
  <//>`;
}

function SessionLine({ each }) {
  const isAgent = each.session.includes("#agent-");
  return html`<li class="file-line"><div class="file-head">
    <${Link} class="file-title session-title clip-2" to=${`/session/${part(each.session)}`}><bdi>${nameOf(each)}</bdi><//>
    ${each.problem && html`<${Badge} kind="bad" title=${each.problem}>unreadable<//>`}
    ${isAgent && html`<${Badge} title="an agent that a turn of another session started">subagent<//>`}
    ${each.compactions > 0 && html`<${Badge} kind="warn" title="a summary took the place of its turns: the session shows what that lost">${count(each.compactions, "compaction")}<//>`}
    <span class="faint num">${count(each.turns, "turn")} · <${When} time=${each.ended || each.started} dateOnly /></span>
  </div><div class="faint clip">${[each.project, each.branch, each.model].filter(Boolean).join(" · ")}</div></li>`;
}

function Runs() {
  const asked = useAnswer("/runs", { limit: FEW });
  useAgain(asked);
  return html`<${Panel} title="Runs" id="runs" aside=${html`<${Link} to="/runs">all runs<//>`}>
    <${Answered} asked=${asked}>${(found) => found.runs.length
      ? html`<ul class="plain-list">${found.runs.map((each) => html`<li key=${each.run} class="file-line"><div class="file-head">
          <${Ref} to=${`run:${each.run.replace(/^run:/, "")}`} long />
          <${RunState} stopped=${each.stopped} problem=${each.problem} />
          <span class="space"></span><span class="faint num">${count(each.events, "event")} · <${When} time=${each.updated} dateOnly /></span></div>
          ${(each.objective || each.problem) && html`<div class="soft clip-2" dir="auto">${each.objective || each.problem}</div>`}</li>`)}</ul>`
      : html`<${Empty}>No agent has recorded a run yet: <code>tt run start</code>.<//>`}<//>
  <//>`;
}

function Health({ found }) {
  const seal = found.last_seal;
  return html`<${Panel} title="Health" id="health" aside=${html`<${Link} to="/proof">verify<//>`}>
    <${Facts} of=${{
      "last seal": seal ? html`<${Link} to="/proof?show=seals"><${When} time=${seal.time} /><//>` : html`<span>none: <code>tt seal</code></span>`,
      database: bytes(found.database_bytes), index: bytes(found.index_bytes),
      kernel: { native: "compiled", plain: "plain" }[found.kernel] || "not there", version: found.version }} />
  <//>`;
}

export function Home() {
  const status = useAnswer("/status");
  useAgain(status);
  const found = status.answer;
  const isAway = status.problem && (status.problem.status === 503 || status.problem.code === "offline"); // each panel would say the same
  return html`<h1>${found ? found.name : "Home"}</h1>
    ${status.problem && html`<${ProblemBox} problem=${status.problem} again=${status.again} />`}
    ${isAway ? null : html`<${Rest} found=${found} status=${status} />`}`;
}

function Rest({ found, status }) {
  return html`
    ${found ? html`<${Here} found=${found} />` : !status.problem && html`<${Panel} title="What is here" id="here"><${Busy} /><//>`}
    <div class="columns"><${Fresh} counts=${found ? found.freshness : {}} /><${Attention} found=${found} /></div>
    <div class="columns"><${Sessions} /><div><${Runs} />${found && html`<${Health} found=${found} />`}</div></div>`;
}
