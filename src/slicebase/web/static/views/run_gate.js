// The gate of a run: its snapshots, the newest first, each with the checks that it passed or failed.
import { part, useAnswer, useLater, usePages } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { choose, href, Link } from "slicebase/lib/router.js";
import { Answered, Empty, More, Ref, Status, When } from "slicebase/lib/ui.js";

/** The checks of the gate: name, PASS or FAIL, message. Those that failed come first. */
export function Checks({ validation }) {
  const checks = [...validation.checks].sort((one, other) => Number(one.status === "PASS") - Number(other.status === "PASS"));
  return html`<ul class="checks">${checks.map((check) => html`<li key=${check.name}><${Status} value=${check.status} /> <code>${check.name}</code>${check.message && html` <span dir="auto" class=${check.status === "PASS" ? "faint" : ""}>${check.message}</span>`}</li>`)}</ul>
    ${validation.failure_action_taken !== "NONE" && html`<p class="faint">After the first failure: ${validation.failure_action_taken === "RETRY" ? "it was taken once more" : "the run was stopped"} (${validation.failure_action_taken}).</p>`}`;
}

function Opened({ snapshot }) {
  const asked = useAnswer(`/snapshots/${part(snapshot)}`);
  return html`<${Answered} asked=${asked}>${(found) => html`<${Checks} validation=${found.validation} />`}<//>`;
}

export function Gate({ run, route, events }) {
  const pages = usePages(`/runs/${part(run, "run")}/snapshots`, { limit: 50 }, "snapshots");
  useLater(pages.again, events);
  const chosen = route.query.snapshot || "";
  return html`
    ${!pages.items.length && !pages.busy && !pages.problem && html`<${Empty}>No snapshot yet: <code>tt run compact</code> takes one.<//>`}
    <ol class="gate">${pages.items.map((each, at) => {
      const isOpen = chosen === each.snapshot_id || (each.status === "FAIL" && chosen === "");
      const before = pages.items[at + 1];
      return html`<li key=${each.snapshot_id}>
        <div class="row">
          <button type="button" class="plain-button" aria-expanded=${isOpen} onClick=${() => choose({ snapshot: isOpen ? "none" : each.snapshot_id })}><span class="num">snapshot ${each.sequence}</span> <${Status} value=${each.status} /></button>
          <${Ref} to=${each.snapshot_id} />
          <${When} time=${each.time} />
          <${Link} class="faint" to=${href(`/run/${part(run, "run")}`, { event: each.event })}>event ${each.event}<//>
          ${before && html`<${Link} to=${href(`/snapshot/${each.snapshot_id}`, { with: before.snapshot_id })}>what changed<//>`}
        </div>
        ${isOpen && html`<${Opened} snapshot=${each.snapshot_id} />`}
      </li>`;
    })}</ol>
    <${More} pages=${pages} />`;
}
