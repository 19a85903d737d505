// Proof: verify with its progress, the doctor, what is stale or due, the format, and the chain of seals.
import { useAnswer, usePages } from "slicebase/lib/api.js";
import { fileAt, States } from "slicebase/lib/files.js";
import { html } from "slicebase/lib/html.js";
import { choose, href, Link } from "slicebase/lib/router.js";
import { Answered, Badge, Copy, count, Empty, More, Panel, When } from "slicebase/lib/ui.js";
import { Seals } from "slicebase/views/proof_seals.js";
import { Verify } from "slicebase/views/proof_verify.js";

const PARTS = [
  ["verify", "Verify", Verify],
  ["seals", "Seals", Seals],
  ["stale", "Stale", Stale],
  ["due", "Due", Due],
  ["doctor", "Doctor", Doctor],
  ["format", "Format", Format],
];

export function Proof({ route }) {
  const [name, title, Part] = PARTS.find(([each]) => each === route.query.show) || PARTS[0];
  return html`<h1>Proof</h1>
    <nav class="tabs" aria-label="Checks">${PARTS.map(([each, text]) => html`<${Link} key=${each} to=${href("/proof", { show: each === "verify" ? "" : each })} aria-current=${each === name ? "page" : undefined}>${text}<//>`)}<${Link} to="/proof/why">Why<//></nav>
    <${Part} key=${name} title=${title} query=${route.query} />`;
}

function Stale() {
  const pages = usePages("/stale", { limit: 50 }, "files");
  const found = pages.first;
  return html`<${Panel} title="Files that should be checked again" id="stale" aside=${found && `${count(found.total, "file")} · half-life ${found.half_life_days} days`}>
    ${found && !found.total && html`<${Empty}>Nothing is stale.<//>`}
    <ul class="plain-list">${pages.items.map((file) => html`<li key=${file.file} class="file-line"><div class="file-head"><${Link} class="file-title" to=${fileAt(file.id)}><bdi>${file.title || file.id}</bdi><//> <span class="badges"><${Badge}>${file.type}<//> <${States} file=${file} /></span></div>
      ${file.reasons.map((why, at) => html`<div key=${at} class="soft">${why.detail}${why.since && html` <span class="faint">since <${When} time=${why.since} dateOnly /></span>`}</div>`)}</li>`)}</ul>
    <${More} pages=${pages} />
  <//>`;
}

function Due({ query }) {
  const everything = query.all === "true";
  const pages = usePages("/due", { limit: 50, everything }, "files");
  const aside = html`<label><input type="checkbox" checked=${everything} onChange=${() => choose({ all: everything ? null : "true" })} /> also rules without a time or a number</label>`;
  return html`<${Panel} title="Work that contracts ask for" id="due" aside=${aside}>
    ${pages.first && !pages.first.total && html`<${Empty}>Nothing is due.<//>`}
    <ul class="plain-list">${pages.items.map((file) => html`<li key=${file.id} class="file-line"><div class="file-head"><${Link} class="file-title" to=${fileAt(file.id)}>${file.title || file.id}<//><span class="space"></span>${file.done && html`<span class="faint">done <${When} time=${file.done} dateOnly /></span>`}</div>
      ${file.reasons.map((why, at) => html`<div key=${at} class="soft">${why.detail}${why.rule && html` <span class="faint">“${why.rule}”</span>`}</div>`)}
      <details><summary>commands</summary>${file.commands.map((each) => html`<div key=${each} class="row"><code>${each}</code> <${Copy} text=${each} /></div>`)}</details></li>`)}</ul>
    <${More} pages=${pages} />
  <//>`;
}

function Doctor() {
  const asked = useAnswer("/doctor");
  return html`<${Panel} title="What is wrong with the workspace" id="doctor" aside=${html`<button type="button" class="small" onClick=${asked.again} disabled=${asked.busy}>${asked.busy ? "looking …" : "look again"}</button>`}>
    <${Answered} asked=${asked}>${(found) => found.total
      ? html`<ul class="plain-list">${found.complaints.map((each, at) => html`<li key=${at} class="file-line"><div class="file-head"><${Badge} kind="warn">${each.check}<//> <code>${each.place}</code>${each.fixable && html`<${Badge} title="tt doctor --fix">can be fixed<//>`}</div><div>${each.message}</div>${each.hint && html`<div class="faint">${each.hint}</div>`}</li>`)}</ul>
          ${found.total > found.complaints.length && html`<p class="faint">the first ${found.complaints.length} of ${found.total}</p>`}`
      : html`<p><${Badge} kind="good">well<//> The doctor has no complaints.</p>`}<//>
  <//>`;
}

const SEVERITIES = { __proto__: null, error: "bad", warning: "warn", hint: "" };

function Format() {
  const asked = useAnswer("/validate");
  return html`<${Panel} title="Slice files against the format" id="format" aside=${html`<button type="button" class="small" onClick=${asked.again} disabled=${asked.busy}>${asked.busy ? "checking …" : "check again"}</button>`}>
    <${Answered} asked=${asked}>${(found) => html`
      <p>${Object.entries(found.counts).map(([name, number]) => html`<span key=${name} class="counted">${count(number, name.replace(/s$/, ""))}</span> `)}</p>
      ${Object.keys(found.rules).length > 0 && html`<ul class="legend" aria-label="Findings by rule">${Object.entries(found.rules).map(([rule, number]) => html`<li key=${rule}>${number} <code>${rule}</code></li>`)}</ul>`}
      ${byFile(found.findings).map(([file, findings]) => html`<section key=${file} class="session-hit"><h3><${Link} to=${fileAt(file.split("/").pop().replace(/\.slice$/, ""))}>${file}<//></h3>
        <ul class="plain-list">${findings.map((each, at) => html`<li key=${at}><${Badge} kind=${SEVERITIES[each.severity]}>${each.severity}<//> <code>${each.rule}</code> <span class="faint">${each.line !== null ? `line ${each.line}` : ""}</span> ${each.message}${each.hint && html`<div class="faint">${each.hint}</div>`}</li>`)}</ul></section>`)}`}<//>
  <//>`;
}

function byFile(findings) {
  const files = new Map();
  for (const each of findings) files.set(each.file, [...(files.get(each.file) || []), each]);
  return [...files];
}
