// The time line of a run: all of it as bars, a part of it step by step, and the event that is chosen.
import { useEffect, useRef } from "preact/hooks";
import { exported, part, useAnswer } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { choose } from "slicebase/lib/router.js";
import { Answered, Badge, count, When } from "slicebase/lib/ui.js";
import { EventPanel } from "slicebase/views/run_event.js";

const SHOWN = exported ? 500 : 120; // events of a part
const NAMES = {
  __proto__: null,
  plan: "plan", act: "act", observe: "observe", claim: "claim", conflict: "conflict", question: "question", failure: "failure",
  loop: "loop", context: "context, source", snapshot: "snapshot", term: "start, stop", other: "other",
};

/** All events as bars. A click shows the events of a bar. */
function Bars({ found, first, last }) {
  const shown = new Set(found.bars.flatMap((bar) => bar.segments.map((each) => each.family)));
  const scale = found.width / Math.max(1, found.events);
  const chosen = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * found.events);
    choose({ after: Math.max(0, at - SHOWN / 4), event: "" });
  };
  return html`<figure class="bars">
    <svg viewBox=${`0 0 ${found.width} ${found.height}`} preserveAspectRatio="none" role="img" aria-label=${`${count(found.events, "event")}; shown are ${first} to ${last}`} onClick=${chosen}>
      ${found.bars.map((bar) => bar.segments.map((each) => html`<rect key=${`${bar.first}${each.family}`} class=${`family-${each.family}`} x=${bar.x} y=${each.y} width=${Math.max(0.5, bar.width - (bar.width > 3 ? 0.6 : 0))} height=${each.height}><title>${`events ${bar.first} to ${bar.last}: ${each.count} ${each.family}`}</title></rect>`))}
      <rect class="window" x=${(first - 1) * scale} y="0" width=${Math.max(2, (last - first + 1) * scale)} height=${found.height} />
    </svg>
    <figcaption>${Object.entries(NAMES).filter(([name]) => shown.has(name)).map(([name, words]) => html`<span key=${name}><i class=${`dot family-${name}`}></i>${words}</span>`)}</figcaption>
  </figure>`;
}

function Line({ line, chosen }) {
  const me = useRef(null);
  const wasChosen = useRef(false);
  useEffect(() => {
    if (chosen) me.current.scrollIntoView({ block: "nearest" });
    else if (wasChosen.current && document.activeElement === document.body) me.current.querySelector("button").focus(); // its panel was closed
    wasChosen.current = chosen;
  }, [chosen]);
  return html`<li class="event" ref=${me}>
    <button type="button" class="plain-button" aria-pressed=${chosen} onClick=${() => choose({ event: chosen ? "" : line.seq })}>
      <span class="seq num">${line.seq}</span>
      <span class=${`type family-${line.family}`}>${line.type.toLowerCase().replace(/_done$/, "").replaceAll("_", " ")}</span>
      <span class="words" dir="auto">${line.is_purged ? "(purged)" : line.text}</span>
      ${line.status && html`<${Badge} kind=${{ __proto__: null, PASS: "good", FAIL: "bad", verified: "good", retracted: "bad", open: "warn" }[line.status] || ""}>${line.status}<//>`}
      ${line.time && html`<time class="faint" datetime=${line.time} title=${line.time}>${line.time.slice(11, 19)}</time>`}
    </button>
  </li>`;
}

function Steps({ found, chosen }) {
  return html`<ol class="run-steps">${found.steps.map((step) => html`<li key=${step.events[0].seq} class=${step.step === null ? "alone" : ""}>
    ${step.step !== null && html`<h3>step ${step.step} <span class="faint"><${When} time=${step.events[0].time} /></span></h3>`}
    <ol>${step.events.map((line) => html`<${Line} key=${line.seq} line=${line} chosen=${line.seq === chosen} />`)}</ol>
  </li>`)}</ol>`;
}

/** Moves through the events: the first, those before, those after, the last. */
function Pager({ found }) {
  const to = (after) => () => choose({ after, event: "" });
  const atEnd = found.last >= found.events;
  if (atEnd && found.first <= 1) return null;
  return html`<div class="pager row">
    <button type="button" class="small" disabled=${found.first <= 1} onClick=${to(0)}>first</button>
    <button type="button" class="small" disabled=${found.first <= 1} onClick=${to(Math.max(0, found.first - 1 - SHOWN))}>earlier</button>
    <input type="range" min="0" max=${Math.max(0, found.events - SHOWN)} step="1" value=${found.first - 1} aria-label="First event that is shown" onChange=${(event) => choose({ after: event.currentTarget.value, event: "" })} />
    <button type="button" class="small" disabled=${atEnd} onClick=${to(found.last)}>later</button>
    <button type="button" class="small" disabled=${atEnd} onClick=${to("")}>last</button>
    <span class="faint num">${found.first.toLocaleString("en")}–${found.last.toLocaleString("en")} of ${found.events.toLocaleString("en")}</span>
  </div>`;
}

/** Returns where to begin: what the address says; else where the chosen event is shown already, or before it; else at the end. An exported page has fixed parts. */
function begin(query, shown, events) {
  if (exported) return Math.floor(Math.max(0, query.event ? query.event - 1 : query.after || 0) / SHOWN) * SHOWN;
  if (query.after !== undefined) return query.after;
  const event = Number(query.event) || 0;
  if (shown && event >= shown.first && event <= shown.last) return shown.after;
  return event ? Math.max(0, Math.min(event - 8, events - SHOWN)) : -1;
}

export function Timeline({ run, route, grown, events }) {
  const place = `/runs/${part(run, "run")}`;
  const all = useAnswer(`${place}/timeline`);
  const shown = useRef(null);
  const after = begin(route.query, shown.current, events);
  const some = useAnswer(`${place}/steps`, { after, limit: SHOWN });
  if (some.answer && !some.busy) shown.current = { after, first: some.answer.first, last: some.answer.last };
  useEffect(() => {
    if (!grown) return;
    all.again();
    some.again();
  }, [grown]);
  const chosen = Number(route.query.event) || 0;
  return html`<${Answered} asked=${some}>${(found) => html`
    ${all.answer && html`<${Bars} found=${all.answer} first=${found.first} last=${found.last} />`}
    <${Pager} found=${found} />
    <div class=${`timeline ${chosen ? "with-event" : ""}`}>
      <${Steps} found=${found} chosen=${chosen} />
      ${chosen > 0 && html`<${EventPanel} run=${run} seq=${chosen} />`}
    </div>`}<//>`;
}
