// The difference between two snapshots: what was added, what changed, and what is gone, for each kind.
import { part, useAnswer } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { choose } from "slicebase/lib/router.js";
import { Answered, Badge, Panel, Ref } from "slicebase/lib/ui.js";
import { ClaimItem, ConflictItem, FailureItem } from "slicebase/views/run_items.js";

const KINDS = [["claims", "Claims"], ["conflicts", "Conflicts"], ["open_questions", "Questions"], ["failures", "Failures"]];
const CHANGES = [["added", "good", "added"], ["changed", "warn", "changed"], ["gone", "bad", "gone"]];

function Item({ kind, item, run }) {
  if (kind === "claims") return html`<${ClaimItem} item=${item} run=${run} />`;
  if (kind === "conflicts") return html`<${ConflictItem} item=${item} />`;
  if (kind === "failures") return html`<${FailureItem} item=${item} />`;
  return html`<p dir="auto" class="stated">${item}</p>`;
}

const value = (item, field) => (field.endsWith("_refs") ? `${(item[field === "evidence_refs" ? "evidence" : field.replace("_refs", "")] || []).length} cited` : String(item[field] ?? ""));

function Changed({ kind, change, run }) {
  return html`<${Item} kind=${kind} item=${change.after} run=${run} />
    <dl class="was">${change.fields.map((field) => html`<div key=${field}><dt>${field.replaceAll("_", " ")}</dt><dd><s dir="auto">${value(change.before, field)}</s> → <span dir="auto">${value(change.after, field)}</span></dd></div>`)}</dl>`;
}

function Kind({ kind, name, found, run }) {
  const { counts } = found;
  return html`<${Panel} title=${name} id=${`differ-${kind}`} aside=${`${counts.same.toLocaleString("en")} the same`}>
    ${CHANGES.filter(([change]) => counts[change]).map(([change, badge, words]) => html`<div key=${change}>
      <h3><${Badge} kind=${badge}>${words} ${counts[change].toLocaleString("en")}<//></h3>
      <ol class="items">${found[change].map((each, at) => html`<li key=${at}>${change === "changed" ? html`<${Changed} kind=${kind} change=${each} run=${run} />` : html`<${Item} kind=${kind} item=${each} run=${run} />`}</li>`)}</ol>
      ${found[change].length < counts[change] && html`<p class="faint">The first ${found[change].length} of ${counts[change]}.</p>`}
    </div>`)}
  <//>`;
}

const differs = ({ counts }) => counts.added + counts.changed + counts.gone > 0;

/** What differs between a snapshot and another one. Of two of the same run, the earlier one comes first, whichever is shown. */
export function Difference({ found: shown, other }) {
  const asked = useAnswer(`/snapshots/${part(other)}`);
  return html`<${Answered} asked=${asked}>${(found) => {
    const isEarlier = found.run_id === shown.run_id && found.sequence < shown.sequence;
    return html`<${Changes} key=${found.snapshot_id} one=${isEarlier ? found : shown} other=${isEarlier ? shown : found} />`;
  }}<//>`;
}

const Named = ({ of, run }) => html`snapshot ${of.sequence}${of.run_id === run ? "" : ` of ${of.run_id}`} <${Ref} to=${of.snapshot_id} />`;

function Changes({ one, other }) {
  const asked = useAnswer(`/snapshots/${part(one.snapshot_id)}/diff/${part(other.snapshot_id)}`);
  return html`<div class="row compare-head"><h2>From <${Named} of=${one} run=${other.run_id} /> to <${Named} of=${other} run=${one.run_id} /></h2><span class="space"></span>
      <button type="button" class="small" onClick=${() => choose({ with: "" })}>close</button></div>
    <${Answered} asked=${asked}>${(found) => html`
      <p class="soft">${Object.entries(found.coverage).map(([name, [old, now]]) => `${name.replaceAll("_", " ").replace(" ids", "s")} ${old} → ${now}`).join(" · ")}</p>
      ${KINDS.filter(([kind]) => !differs(found[kind])).map(([kind, name]) => html`<p key=${kind} class="soft">${name}: nothing differs, ${found[kind].counts.same.toLocaleString("en")} the same.</p>`)}
      ${KINDS.filter(([kind]) => differs(found[kind])).map(([kind, name]) => html`<${Kind} key=${kind} kind=${kind} name=${name} found=${found[kind]} run=${other.run_id} />`)}`}<//>`;
}
