// A run: what it is for, what it has spent, its time line, what it knows, its gate, and its documents.
import { useEffect, useRef, useState } from "preact/hooks";
import { part, useAnswer, useGrowth, useLater } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { href, Link } from "slicebase/lib/router.js";
import { Markdown } from "slicebase/lib/text.js";
import { Answered, Badge, Busy, Copy, count, Facts, Ref, When } from "slicebase/lib/ui.js";
import { Gate } from "slicebase/views/run_gate.js";
import { Incidents } from "slicebase/views/run_incidents.js";
import { Items } from "slicebase/views/run_items.js";
import { Timeline } from "slicebase/views/run_timeline.js";
import { RunState } from "slicebase/views/runs.js";

const sum = (counts) => Object.values(counts).reduce((total, number) => total + number, 0);
const number = (value) => Number(value.toFixed(2)).toLocaleString("en");

/** How much of a limit is used. */
export function Meter({ name, used, limit, unit = "", near = 0.8 }) {
  const share = limit ? Math.min(1, used / limit) : 0;
  const kind = used > limit ? "over" : share >= near ? "near" : "";
  return html`<div class=${`meter ${kind}`}>
    <span class="name">${name}</span>
    <span class="track" role="meter" aria-label=${name} aria-valuemin="0" aria-valuemax=${limit} aria-valuenow=${Math.min(used, limit)}><span class="used" style=${{ width: `${share * 100}%` }}></span></span>
    <span class="num">${number(used)} of ${number(limit)}${unit}</span>
  </div>`;
}

function done(definition) {
  if (typeof definition === "string") return definition;
  const { budgets, guards, text, ...rest } = definition;
  const others = Object.keys(rest).length ? JSON.stringify(rest) : "";
  return [text, others].filter(Boolean).join(" ");
}

function Head({ found }) {
  const { budgets, spent, next_compaction: next, guards, coverage } = found;
  const limits = [["steps", budgets.max_steps, ""], ["seconds", budgets.max_seconds, " s"], ["cost", budgets.max_cost, ""]].filter(([, limit]) => limit !== null);
  return html`<section class="panel run-head" aria-label="Status">
    <p class="objective" dir="auto">${found.objective}</p>
    <p class="soft" dir="auto"><span class="faint">Done when: </span>${done(found.done_definition)}</p>
    ${found.forked_from && html`<p>Forked from <${Ref} to=${found.forked_from} />${found.inherited && html` of <${Ref} to=${`run:${found.inherited.run}`} long />, after ${count(found.inherited.events, "event")}; it inherits ${count(found.inherited.steps, "step")}, ${number(found.inherited.seconds)} s and cost ${number(found.inherited.cost)}`}.</p>`}
    ${found.projected_from && html`<p>Made from the conversation <${Ref} to=${found.projected_from} />.</p>`}
    <div class="meters">
      ${limits.map(([name, limit, unit]) => html`<${Meter} key=${name} name=${name} used=${spent[name]} limit=${limit} unit=${unit} near=${guards.soft} />`)}
      ${!found.stopped && html`<${Meter} name="next compaction, events" used=${next.counted_events} limit=${next.event_threshold} near=${1} /><${Meter} name="next compaction, steps" used=${next.steps} limit=${next.step_threshold} near=${1} />`}
    </div>
    <${Facts} of=${{
      events: found.events.toLocaleString("en"), snapshots: found.snapshots.toLocaleString("en"), started: html`<${When} time=${found.started} />`, updated: html`<${When} time=${found.updated} />`,
      spent: limits.length ? null : `${count(spent.steps, "step")}, ${number(spent.seconds)} s, cost ${number(spent.cost)}`,
      seen: `${count(coverage.sources_seen, "source")}, ${count(coverage.chunks_seen, "chunk")}`, cited: count(coverage.chunks_cited, "chunk"),
      "loop guard": guards.loop, manifests: guards.require_manifest ? "required" : null, provenance: found.provenance_mode,
    }} />
    ${found.near_limits.map((each) => html`<p key=${each}><${Badge} kind="warn">near its limit<//> ${each}</p>`)}
    ${found.interrupted_steps.length > 0 && html`<p><${Badge} kind="warn">interrupted<//> ${count(found.interrupted_steps.length, "step")} that nobody holds any more: ${found.interrupted_steps.join(", ")}</p>`}
  </section>`;
}

const TABS = [
  ["", "Time line", (found) => found.events],
  ["claims", "Claims", (found) => sum(found.claims)],
  ["conflicts", "Conflicts", (found) => sum(found.conflicts)],
  ["questions", "Questions", (found) => found.questions],
  ["failures", "Failures", (found) => sum(found.failures)],
  ["gate", "Gate", () => null],
  ["incidents", "Incidents", () => null],
  ["narrative", "Narrative", () => null],
  ["report", "Report", () => null],
];

/** Parts of a page, each with an address. */
export function Tabs({ path, tabs, chosen, label, kept = {} }) {
  return html`<nav class="run-tabs" aria-label=${label}>${tabs.map(([name, words, size]) => html`<${Link} key=${name} stay to=${href(path, { ...kept, tab: name })} aria-current=${name === chosen ? "true" : undefined}>${words}${size === null || size === undefined ? null : html` <span class="faint num">${size.toLocaleString("en")}</span>`}<//>`)}</nav>`;
}

function Document({ run, name, events }) {
  const asked = useAnswer(`/runs/${part(run, "run")}/${name}`);
  useLater(asked.again, events);
  if (asked.problem && asked.problem.code === "no-snapshot") return html`<p class="empty">No snapshot has passed yet, so there is no narrative.</p>`;
  if (!asked.answer && !asked.problem) return html`<${Busy}>reading the run …<//>`;
  return html`<${Answered} asked=${asked}>${(found) => html`<div class="document"><div class="row"><span class="space"></span><${Copy} text=${found.markdown} label="copy Markdown" /></div><${Markdown} text=${found.markdown} /></div>`}<//>`;
}

function Shown({ tab, run, route, grown, events }) {
  const owner = `/runs/${part(run, "run")}`;
  if (["claims", "conflicts", "questions", "failures"].includes(tab)) return html`<${Items} key=${tab} owner=${owner} kind=${tab} route=${route} run=${run} events=${events} />`;
  if (tab === "gate") return html`<${Gate} run=${run} route=${route} events=${events} />`;
  if (tab === "incidents") return html`<${Incidents} run=${run} events=${events} />`;
  if (tab === "narrative" || tab === "report") return html`<${Document} key=${tab} run=${run} name=${tab} events=${events} />`;
  return html`<${Timeline} run=${run} route=${route} grown=${grown} events=${events} />`;
}

export function Run({ route }) {
  const run = route.parts[1];
  const tab = TABS.some(([name]) => name === route.query.tab) ? route.query.tab : "";
  const asked = useAnswer(`/runs/${part(run, "run")}`);
  const [grown, setGrown] = useState(0);
  useGrowth(({ runs, began }) => {
    if (began) asked.again();
    else if (asked.answer && Object.hasOwn(runs, asked.answer.run_id)) setGrown(runs[asked.answer.run_id]); // an address may have `run:` before it
  });
  useEffect(() => {
    if (grown) asked.again();
  }, [grown]);
  const known = useRef(0);
  useEffect(() => { // it grew before the server began to watch
    if (known.current && asked.answer && asked.answer.events > known.current) setGrown(asked.answer.events);
    if (asked.answer) known.current = asked.answer.events;
  }, [asked.answer]);
  return html`<h1>${asked.answer ? asked.answer.run_id : run} ${asked.answer && html`<${RunState} stopped=${asked.answer.stopped} />`}</h1>
    <${Answered} asked=${asked}>${(found) => html`
      <${Head} found=${found} />
      <${Tabs} path=${`/run/${part(run, "run")}`} label="Parts of the run" chosen=${tab} tabs=${TABS.map(([name, words, size]) => [name, words, size(found)])} />
      <section class="panel run-part" aria-label=${TABS.find(([name]) => name === tab)[1]}><h2 class="hidden-text">${TABS.find(([name]) => name === tab)[1]}</h2><${Shown} tab=${tab} run=${found.run_id} route=${route} grown=${grown} events=${found.events} /></section>`}<//>`;
}
