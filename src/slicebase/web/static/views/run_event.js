// One event of a run: its payload, its hashes, and its neighbours in the chain.
import { useEffect, useRef, useState } from "preact/hooks";
import { part, useAnswer } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { choose } from "slicebase/lib/router.js";
import { Code, Plain } from "slicebase/lib/text.js";
import { Answered, Badge, bytes, Copy, Facts, Ref, When } from "slicebase/lib/ui.js";

const REFERENCE = /^(?:turn:[0-9a-f-]{36}|(?:session|file|run|row|sec|claim):\S+|(?:mf|sn|ev)_[0-9a-f]{32})$/;
const MOST_REFERENCES = 24;

/** Returns the references and the blobs that a payload names. */
function named(value, found = { refs: new Set(), blobs: new Map() }) {
  if (typeof value === "string") {
    if (REFERENCE.test(value)) found.refs.add(value);
  } else if (Array.isArray(value)) value.forEach((each) => named(each, found));
  else if (value && typeof value === "object") {
    if (typeof value.blob === "string") found.blobs.set(value.blob, value.bytes || 0);
    Object.values(value).forEach((each) => named(each, found));
  }
  return found;
}

/** Content that an event names by its hash; it is read when it is opened. */
function Blob({ run, name, size }) {
  const [open, setOpen] = useState(false);
  const asked = useAnswer(open ? `/runs/${part(run, "run")}/blobs/${part(name)}` : null);
  return html`<div class="blob">
    <button type="button" class="small" aria-expanded=${open} onClick=${() => setOpen(!open)}>content ${name.slice(7, 19)}… ${size ? bytes(size) : ""}</button>
    ${open && html`<${Answered} asked=${asked}>${(found) => html`<${Plain} text=${found.text} />${found.length > found.text.length && html`<p class="faint">${`The first ${found.text.length.toLocaleString("en")} of ${found.length.toLocaleString("en")} characters.`}</p>`}`}<//>`}
  </div>`;
}

function Neighbour({ event, label }) {
  return event && html`<button type="button" class="small" onClick=${() => choose({ event: event.seq })}>${label} ${event.seq} <span class="faint">${event.type.toLowerCase()}</span></button>`;
}

/** An event. The keyboard goes on in it when its line was pressed; Escape closes it. */
export function EventPanel({ run, seq }) {
  const panel = useRef(null);
  useEffect(() => {
    if (document.activeElement && document.activeElement.closest(".event")) panel.current.focus();
  }, [seq]);
  const asked = useAnswer(`/runs/${part(run, "run")}/events/${seq}`);
  return html`<aside class="event-panel" aria-label=${`Event ${seq}`} ref=${panel} tabindex="-1" onKeyDown=${(event) => event.key === "Escape" && choose({ event: "" })}>
    <${Answered} asked=${asked}>${(found) => html`<${Details} run=${run} found=${found} />`}<//>
  </aside>`;
}

function Details({ run, found }) {
  const { event, before, after, signature } = found;
  const { refs, blobs } = named(event.payload);
  const isLinked = event.hash === event.derived_hash && (before ? before.hash === event.prev : event.prev === null);
  const text = event.payload && JSON.stringify(event.payload, null, 2);
  return html`
    <header class="row"><h2>${event.type} ${event.seq}</h2><span class="space"></span><button type="button" class="small" onClick=${() => choose({ event: "" })}>close</button></header>
    <${Facts} of=${{ step: event.step, time: html`<${When} time=${event.time} />` }} />
    ${text ? html`<div class="payload"><${Code} text=${text} language="json" /><${Copy} text=${text} label="copy JSON" /></div>` : html`<p class="faint">${event.problem}</p>`}
    ${[...blobs].map(([name, size]) => html`<${Blob} key=${name} run=${run} name=${name} size=${size} />`)}
    ${refs.size > 0 && html`<p class="refs">${[...refs].slice(0, MOST_REFERENCES).map((each) => html`<${Ref} key=${each} to=${each} /> `)}${refs.size > MOST_REFERENCES && html`<span class="faint">and ${refs.size - MOST_REFERENCES} more</span>`}</p>`}
    <h3>Chain <${Badge} kind=${isLinked ? "good" : "bad"}>${isLinked ? "linked" : "broken"}<//></h3>
    <dl class="hashes">
      <dt>hash</dt><dd><code>${event.hash}</code></dd>
      <dt>before</dt><dd><code>${event.prev || "none: it is the first"}</code></dd>
      <dt>payload</dt><dd><code>${event.payload_hash}</code></dd>
    </dl>
    ${signature && html`<h3>Written by</h3><${Code} text=${JSON.stringify(signature.payload, null, 2)} language="json" />`}
    <div class="row"><${Neighbour} event=${before} label="before:" /><${Neighbour} event=${after} label="after:" /></div>`;
}
