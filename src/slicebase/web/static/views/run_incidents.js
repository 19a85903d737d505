// What went wrong in a run, and its metrics. They need the complete log, so those of a long run are read on request.
import { useState } from "preact/hooks";
import { part, useAnswer, useLater } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { href, Link } from "slicebase/lib/router.js";
import { Answered, Badge, Busy, count, Empty, Facts } from "slicebase/lib/ui.js";

const LONG = 5000; // events of a run whose log is not read unasked
const LISTED = 50; // incidents of each kind

export function Incidents({ run, events }) {
  const [wanted, setWanted] = useState(events <= LONG);
  const asked = useAnswer(wanted ? `/runs/${part(run, "run")}/status` : null);
  useLater(asked.again, events);
  if (!wanted) return html`<p>Loops, stalls and metrics are found in the complete log of ${count(events, "event")}, which takes some seconds. <button type="button" onClick=${() => setWanted(true)}>Read it</button></p>`;
  if (!asked.answer && !asked.problem) return html`<${Busy}>reading the complete log …<//>`;
  return html`<${Answered} asked=${asked}>${(found) => html`<${Found} run=${run} found=${found} />`}<//>`;
}

function Found({ run, found }) {
  const { loops, stalls, forgotten_constraints: forgotten } = found.incidents;
  const { metrics } = found;
  const at = (seq) => html`<${Link} to=${href(`/run/${part(run, "run")}`, { event: seq })}>event ${seq}<//>`;
  const rest = (list) => list.length > LISTED && html`<li class="faint">and ${(list.length - LISTED).toLocaleString("en")} more</li>`;
  return html`
    ${!loops.length && !stalls.length && !forgotten.length && html`<${Empty}>No loop, no stall, no forgotten constraint.<//>`}
    ${loops.length > 0 && html`<h3>Loops <${Badge} kind="warn">${loops.length}<//></h3>
      <ul>${loops.slice(0, LISTED).map((loop, number) => html`<li key=${number}>${loop.kind === "repeat" ? "The same call had the same outcome" : "The same two calls alternated"} ${loop.times} times: ${at(loop.cycles[0][0])} to ${at(loop.cycles[loop.cycles.length - 1][1])}</li>`)}${rest(loops)}</ul>`}
    ${stalls.length > 0 && html`<h3>Stalls <${Badge} kind="warn">${stalls.length}<//></h3>
      <p class="faint">No new chunk was cited up to these events.</p>
      <p>${stalls.slice(0, LISTED).map((seq, place) => html`${place > 0 && ", "}${at(seq)}`)}${stalls.length > LISTED && html` <span class="faint">and ${(stalls.length - LISTED).toLocaleString("en")} more</span>`}</p>`}
    ${forgotten.length > 0 && html`<h3>Forgotten constraints <${Badge} kind="bad">${forgotten.length}<//></h3>
      <ul>${forgotten.slice(0, LISTED).map((each, number) => html`<li key=${number}>${at(each.action)} does what ${at(each.stated)} forbids: <span dir="auto">${each.statement}</span></li>`)}${rest(forgotten)}</ul>`}
    <h3>Metrics</h3>
    <${Facts} of=${Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name.replaceAll("_", " "), value === null ? null : value.toLocaleString("en")]))} />`;
}
