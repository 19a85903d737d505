// Verify, with what is checked now while it runs, and its findings by status.
import { useEffect, useRef, useState } from "preact/hooks";
import { address } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { useSaid } from "slicebase/lib/keyboard.js";
import { count, Panel, ProblemBox, Ref, Status } from "slicebase/lib/ui.js";

/** Runs `verify` on the server: `{state, done, verdict, problem, start, stop}`. Closing it stops the check. */
function useVerify() {
  const [shown, setShown] = useState({ state: "idle", done: [], verdict: null, problem: null });
  const source = useRef(null);
  const close = () => {
    if (source.current) source.current.close();
    source.current = null;
  };
  useEffect(() => close, []);
  const start = () => {
    close();
    setShown({ state: "running", done: [], verdict: null, problem: null });
    const stream = new EventSource(address("/verify/progress"));
    source.current = stream;
    stream.addEventListener("progress", (event) => {
      const { what } = JSON.parse(event.data);
      setShown((old) => ({ ...old, done: [...old.done.filter((each) => each !== what), what] }));
    });
    stream.addEventListener("verdict", (event) => {
      close();
      setShown((old) => ({ ...old, state: "done", verdict: JSON.parse(event.data) }));
    });
    stream.addEventListener("problem", (event) => {
      close();
      const problem = JSON.parse(event.data);
      setShown((old) => ({ ...old, state: "idle", problem: { ...problem, message: problem.detail } }));
    });
    stream.onerror = () => {
      if (source.current !== stream) return;
      close();
      setShown((old) => ({ ...old, state: "idle", problem: { message: "The server does not answer.", hint: "Is `tt serve` still running?" } }));
    };
  };
  const stop = () => {
    close();
    setShown((old) => ({ ...old, state: "stopped" }));
  };
  return { ...shown, start, stop };
}

export function Verify() {
  const check = useVerify();
  const running = check.state === "running";
  useSaid(check.verdict ? `Verified: ${check.verdict.status}.` : running ? "Verify runs." : check.state === "stopped" ? "Verify was stopped." : "");
  return html`<${Panel} title="Verify" id="verify" aside=${html`<code>tt verify</code>`}>
    <p class="soft">Derives everything that is stored again from its bytes, and compares: hashes, ids, slices, contexts, runs and quotes. It reads only.</p>
    <p class="row">${running
      ? html`<button type="button" onClick=${check.stop}>stop</button>`
      : html`<button type="button" class="main" onClick=${check.start}>${check.verdict ? "verify again" : "verify now"}</button>`}
      ${running && html`<progress aria-label="verify runs"></progress>`}
      ${check.state === "stopped" && html`<span class="faint">stopped: nothing is known</span>`}</p>
    ${check.problem && html`<${ProblemBox} problem=${check.problem} again=${check.start} />`}
    ${running && html`<p>checking <strong>${check.done[check.done.length - 1] || "…"}</strong></p>`}
    ${check.done.length > 1 && running && html`<p class="faint">done: ${check.done.slice(0, -1).join(", ")}</p>`}
    ${check.verdict && html`<${Verdict} verdict=${check.verdict} />`}
  <//>`;
}

const MEANING = {
  __proto__: null,
  BROKEN: "what does not follow from the stored bytes",
  UNVERIFIABLE: "what cannot be read, so nothing can be said about it",
  UNWITNESSED: "what the log does not know yet: its process ended before it could log it",
  DRIFTED: "what has changed since; that is no damage",
  PURGED: "what was deleted on request; that is no damage",
  FOREIGN: "what is of another database",
  ADOPTED: "the database was adopted, or put back from a copy",
};
const ORDER = ["BROKEN", "UNVERIFIABLE", "UNWITNESSED", "DRIFTED", "FOREIGN", "ADOPTED", "PURGED"]; // the worst first
const place = (status) => (ORDER.includes(status) ? ORDER.indexOf(status) : ORDER.length);

function Verdict({ verdict }) {
  const checked = Object.entries(verdict.checked);
  const one = (number, what) => count(number, what.replaceAll("_", " ").replace(/ies$/, "y").replace(/s$/, ""), what.replaceAll("_", " "));
  const statuses = Object.keys(verdict.counts).sort((one, other) => place(one) - place(other));
  return html`<div class=${`verdict ${verdict.status.toLowerCase()}`}><strong>${verdict.status}</strong>
      <ul class="legend">${checked.map(([what, number]) => html`<li key=${what}>${one(number, what)}</li>`)}</ul></div>
    ${!statuses.length && html`<p class="soft">Nothing was found: what is stored is what was stored.</p>`}
    ${statuses.map((status) => html`<${Findings} key=${status} status=${status} total=${verdict.counts[status]} findings=${verdict.findings.filter((each) => each.status === status)} />`)}`;
}

export function Findings({ status, total, findings }) {
  return html`<section class="findings"><h3><${Status} value=${status} /> ${count(total, "finding")} <span class="faint">${MEANING[status] || ""}</span></h3>
    <ul class="plain-list">${findings.slice(0, 100).map((each, at) => html`<li key=${at} class="file-line"><div class="file-head"><code>${each.check}</code> <${Place} place=${each.place} /></div>
      ${each.expected && html`<dl class="compared"><div><dt>expected</dt><dd><code>${each.expected}</code></dd></div>${each.found && html`<div><dt>found</dt><dd><code>${each.found}</code></dd></div>`}</dl>`}</li>`)}</ul>
    ${total > Math.min(100, findings.length) && html`<p class="faint">the first ${Math.min(100, findings.length)}; <code>tt verify --json</code> lists all</p>`}</section>`;
}

const REFERENCE = /^(?:(?:turn|session|run|file|row|sec|claim):\S+|(?:mf|sn|ev)_[0-9a-f]+)$/;
const Place = ({ place }) => (REFERENCE.test(place) ? html`<${Ref} to=${place} long />` : html`<span class="mono">${place}</span>`);

