// A snapshot: what a run knew, the checks of the gate, and the difference from another snapshot.
import { part, useAnswer, usePages } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { choose, href, Link } from "slicebase/lib/router.js";
import { Answered, Copy, Facts, Ref, Status, When } from "slicebase/lib/ui.js";
import { Tabs } from "slicebase/views/run.js";
import { Checks } from "slicebase/views/run_gate.js";
import { Items } from "slicebase/views/run_items.js";
import { Difference } from "slicebase/views/snapshot_difference.js";

const TABS = [
  ["", "Checks", (found) => found.validation.checks.length],
  ["claims", "Claims", (found) => found.sizes.claims],
  ["conflicts", "Conflicts", (found) => found.sizes.conflicts],
  ["questions", "Questions", (found) => found.sizes.open_questions],
  ["failures", "Failures", (found) => found.sizes.failures],
  ["coverage", "Coverage", () => null],
];

function Coverage({ found }) {
  const { sizes, retrieval_diagnostics: diagnostics } = found;
  const listed = (values) => (values.length ? values.map((each) => html`<${Ref} key=${each} to=${String(each)} /> `) : null);
  return html`
    <${Facts} of=${{ "sources seen": sizes.source_ids_seen, "chunks seen": sizes.chunk_ids_seen, "chunks cited": sizes.chunk_ids_cited }} />
    ${found.sources.length > 0 && html`<h3>Sources</h3><p class="refs">${listed(found.sources)}${sizes.source_ids_seen > found.sources.length && html`<span class="faint">and ${sizes.source_ids_seen - found.sources.length} more</span>`}</p>`}
    <h3>Retrieval since the snapshot before</h3>
    <${Facts} of=${{
      contexts: diagnostics.manifests, candidates: diagnostics.candidates, selected: diagnostics.selected, "left out": diagnostics.excluded,
      "by reason": Object.entries(diagnostics.excluded_by_reason || {}).map(([name, size]) => `${name} ${size}`).join(", "),
      filters: (diagnostics.filters || []).join(", "),
    }} />
    ${found.latest_context_manifest_ids.length > 0 && html`<h3>Latest contexts</h3><p class="refs">${listed(found.latest_context_manifest_ids)}</p>`}`;
}

/** Chooses another snapshot of the run to compare with. */
function Other({ found, chosen }) {
  const pages = usePages(`/runs/${part(found.run_id, "run")}/snapshots`, { limit: 200 }, "snapshots");
  return html`<label>compare with <select value=${chosen} onChange=${(event) => choose({ with: event.currentTarget.value }, {})}>
    <option value="">…</option>
    ${chosen && !pages.items.some((each) => each.snapshot_id === chosen) && html`<option value=${chosen}>${chosen}</option>`}
    ${pages.items.filter((each) => each.snapshot_id !== found.snapshot_id).map((each) => html`<option key=${each.snapshot_id} value=${each.snapshot_id}>snapshot ${each.sequence}, ${each.time.slice(0, 16).replace("T", " ")}${each.status === "FAIL" ? ", failed" : ""}</option>`)}
  </select></label>`;
}

export function Snapshot({ route }) {
  const name = route.parts[1];
  const asked = useAnswer(`/snapshots/${part(name)}`);
  const tab = TABS.some(([each]) => each === route.query.tab) ? route.query.tab : "";
  return html`<${Answered} asked=${asked} title=${name}>${(found) => html`
    <h1>Snapshot ${found.sequence} of ${found.run_id} <${Status} value=${found.validation.status} /></h1>
    <section class="panel" aria-label="Snapshot">
      <p dir="auto" class="objective">${String(found.objective)}</p>
      <${Facts} of=${{
        run: html`<${Ref} to=${`run:${found.run_id}`} long />`, taken: html`<${When} time=${found.created_at} />`,
        event: html`<${Link} to=${href(`/run/${part(found.run_id, "run")}`, { event: found.event })}>${found.event}<//>`,
        "counted events": found.counts.counted_events_since_last_compaction, steps: found.counts.steps_since_last_compaction,
        policy: found.policy_snapshot_ref, id: html`<code>${found.snapshot_id}</code>`,
      }} />
      <div class="row actions">
        ${found.before && html`<${Link} to=${`/snapshot/${found.before}`}>← before<//>`}
        ${found.after && html`<${Link} to=${`/snapshot/${found.after}`}>after →<//>`}
        ${found.before && html`<${Link} to=${href(`/snapshot/${found.snapshot_id}`, { with: found.before })}>what changed since the one before<//>`}
        <${Other} found=${found} chosen=${route.query.with || ""} />
        <span class="space"></span>
        <${Copy} text=${`tt run snapshot ${found.snapshot_id}`} label="copy as command" />
      </div>
    </section>
    ${route.query.with
      ? html`<${Difference} key=${route.query.with} found=${found} other=${route.query.with} />`
      : html`<${Tabs} path=${`/snapshot/${found.snapshot_id}`} label="Parts of the snapshot" chosen=${tab} tabs=${TABS.map(([each, words, size]) => [each, words, size(found)])} />
        <section class="panel run-part" aria-label=${TABS.find(([each]) => each === tab)[1]}><h2 class="hidden-text">${TABS.find(([each]) => each === tab)[1]}</h2>
          ${tab === "" && html`<${Checks} validation=${found.validation} />`}
          ${tab === "coverage" && html`<${Coverage} found=${found} />`}
          ${["claims", "conflicts", "questions", "failures"].includes(tab) && html`<${Items} key=${tab} owner=${`/snapshots/${part(found.snapshot_id)}`} kind=${tab} route=${route} run=${found.run_id} />`}
        </section>`}`}<//>`;
}
