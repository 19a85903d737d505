// Runs: every run, the last changed first.
import { part, useGrowth, usePages } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { Link } from "slicebase/lib/router.js";
import { Badge, count, Empty, More, Panel, Ref, When } from "slicebase/lib/ui.js";

const STATE = { __proto__: null, OBJECTIVE_ACHIEVED: "good", BUDGET_EXCEEDED: "warn", NO_EVIDENCE: "warn", HUMAN_REQUESTED: "", SYSTEM_ERROR: "bad" };

/** Whether a run goes on, or why it has stopped; of one that cannot be read, that. */
export const RunState = ({ stopped, problem = null }) => (problem && problem !== "purged"
  ? html`<${Badge} kind="bad" title=${problem}>unreadable<//>`
  : html`<${Badge} kind=${stopped ? STATE[stopped] || "" : "live"}>${stopped ? stopped.toLowerCase().replaceAll("_", " ") : "running"}<//>`);

export function Runs() {
  const pages = usePages("/runs", { limit: 50 }, "runs");
  useGrowth((grown) => Object.keys(grown.runs).length && pages.again());
  return html`<h1>Runs</h1>
    <${Panel} title="The last changed first" id="runs">
      ${!pages.items.length && !pages.busy && !pages.problem && html`<${Empty}>No run yet: <code>tt run start</code> begins one, <code>tt run from SESSION</code> makes one of a conversation.<//>`}
      ${pages.items.length > 0 && html`<table class="runs">
        <thead><tr><th>run</th><th>objective</th><th>state</th><th class="num">events</th><th class="num">snapshots</th><th>updated</th></tr></thead>
        <tbody>${pages.items.map((each) => html`<tr key=${each.run}>
          <td class="run-name"><${Link} to=${`/run/${part(each.run, "run")}`}>${each.run}<//></td>
          <td class="run-objective"><span dir="auto" class="clip-2" title=${each.objective}>${each.objective || html`<span class="faint">(${each.problem})</span>`}</span>
            ${each.forked_from && html`<span class="faint"> forked from <${Ref} to=${each.forked_from} /></span>`}
            ${each.projected_from && html`<span class="faint"> from <${Ref} to=${each.projected_from} /></span>`}</td>
          <td><${RunState} stopped=${each.stopped} problem=${each.problem} /></td>
          <td class="num" data-unit=${each.events === 1 ? "event" : "events"}>${each.events.toLocaleString("en")}</td>
          <td class="num" data-unit=${each.snapshots === 1 ? "snapshot" : "snapshots"}>${each.snapshots.toLocaleString("en")}</td>
          <td class="when"><${When} time=${each.updated} /></td>
        </tr>`)}</tbody>
      </table>`}
      <${More} pages=${pages} label=${`more than ${count(pages.items.length, "run")}`} />
    <//>`;
}
