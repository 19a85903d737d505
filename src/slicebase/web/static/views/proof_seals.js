// The chain of seals: when each was made, what it covers, and whether it still holds.
import { useState } from "preact/hooks";
import { useAnswer, usePages } from "slicebase/lib/api.js";
import { fileAt } from "slicebase/lib/files.js";
import { html } from "slicebase/lib/html.js";
import { Link } from "slicebase/lib/router.js";
import { Badge, Busy, count, Empty, More, Panel, ProblemBox, When } from "slicebase/lib/ui.js";
import { Findings } from "slicebase/views/proof_verify.js";

const STATES = {
  __proto__: null,
  holds: ["good", "holds", "what it sealed is still there"],
  drifted: ["warn", "holds, files changed", "the database has what it had; files of the library have changed since"],
  broken: ["bad", "broken", "something that it sealed was changed or cut off"],
  foreign: ["", "another database", "it is of a colleague's database, or of an earlier one"],
  unverifiable: ["warn", "unverifiable", "a line of it cannot be read"],
};

export function Seals() {
  const pages = usePages("/seals", { limit: 20 }, "seals");
  const found = pages.first;
  return html`<${Panel} title="The chain of seals" id="seals" aside=${found && html`${count(found.total, "seal")} · this database is <code>${found.database.slice(0, 8)}</code>`}>
    <p class="soft">A seal is a slice file with the heads of all chains. In git, it shows that nothing was cut off or rewritten since. Here each is compared with the chains of the database.</p>
    ${found && !found.total && html`<${Empty}>There is no seal yet: <code>tt seal</code> makes one.<//>`}
    <ol class="plain-list seals">${pages.items.map((seal) => html`<${Seal} key=${seal.id} seal=${seal} />`)}</ol>
    <${More} pages=${pages} />
  <//>`;
}

function Seal({ seal }) {
  const [full, setFull] = useState(false);
  const asked = useAnswer(full ? `/seals/${encodeURIComponent(seal.id)}` : null);
  const shown = asked.answer || seal;
  const [kind, text, meaning] = STATES[shown.state] || ["", shown.state, ""];
  const statuses = [...new Set(shown.findings.map((each) => each.status))];
  return html`<li class="seal"><div class="file-head"><${Link} to=${fileAt(seal.id)} class="file-title"><${When} time=${seal.time} /><//> <${Badge} kind=${kind} title=${meaning}>${text}<//>
      <span class="faint">${seal.entries !== null ? `${count(seal.entries, "entry", "entries")} of the log, ` : ""}${count(seal.chains, "chain")}, ${count(seal.files, "file")}</span>
      <span class="space"></span>
      ${shown.state !== "foreign" && !full && html`<button type="button" class="small" onClick=${() => setFull(true)}>compare the files too</button>`}</div>
    ${shown.state !== "holds" && html`<div class="soft">${meaning}</div>`}
    ${full && !asked.answer && !asked.problem && html`<${Busy} />`}
    ${asked.problem && html`<${ProblemBox} problem=${asked.problem} again=${asked.again} />`}
    ${asked.answer && shown.state === "holds" && html`<div class="soft">Every file is as it was sealed.</div>`}
    ${statuses.map((status) => { const found = shown.findings.filter((each) => each.status === status); return html`<${Findings} key=${status} status=${status} total=${found.length} findings=${found} />`; })}
  </li>`;
}
