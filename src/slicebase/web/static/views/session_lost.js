// A compaction: a line across the chat, the summary on one side and what it lost on the other.
import { part, useAnswer } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { href, Link } from "slicebase/lib/router.js";
import { Badge, Busy, Empty, ProblemBox } from "slicebase/lib/ui.js";

/** Returns whether a turn is a client's mark of a compaction whose summary is beside it: one line for both is enough. */
export const isMarked = (turn, beside) => Boolean(turn) && turn.compaction === "mark" && beside.some((each) => each && each.compaction === "summary");

/** The line of a compaction. The summary is below it; what it lost can be opened beside that. */
export function Compaction({ turn, open, onOpen }) {
  if (turn.compaction === "mark") return html`<div class="session-compaction mark"><span>the client marks a compaction</span></div>`;
  return html`<div class="session-compaction"><span>compacted here</span>
    <button type="button" class="small" onClick=${() => onOpen(!open)} aria-expanded=${open}>${open ? "hide what it lost" : "what it lost"}</button></div>`;
}

/** What the compaction with this summary lost. It reads all turns before it, so it is asked for only when it is opened. */
export function Lost({ session, turn }) {
  const asked = useAnswer(`/lost/${part(session)}`, { limit: 200 });
  if (asked.problem) return html`<${ProblemBox} problem=${asked.problem} again=${asked.again} />`;
  if (!asked.answer) return html`<${Busy}>comparing the summary with all turns before it … this takes about a second a megabyte<//>`;
  const all = asked.answer.compactions;
  const loss = all.find((each) => each.summary === `turn:${turn}`);
  if (!loss) return html`<${Empty}>This summary goes on with the next one: the line there has what was lost.<//>`;
  const kinds = [...new Set(loss.lost.map((each) => each.kind))];
  return html`<section class="lost" aria-label="What the compaction lost">
    <p><strong>${loss.turns.toLocaleString("en")} turns before it.</strong> The summary ${loss.headline}.</p>
    ${!loss.readable && html`<p class="empty">The summary is missing, empty or encrypted, so what it kept cannot be read.</p>`}
    ${kinds.map((kind) => html`<${Kind} key=${kind} kind=${kind} counts=${loss.kinds[kind]} items=${loss.lost.filter((each) => each.kind === kind)} />`)}
    ${loss.more > 0 && html`<p class="faint">${loss.more} more: <code>tt lost</code> lists them.</p>`}
  </section>`;
}

function Kind({ kind, counts, items }) {
  return html`<h3>${kind} <span class="faint">${counts ? `kept ${counts.kept} of ${counts.of}` : ""}</span></h3>
    <ul>${items.map((each, place) => html`<li key=${place}>
      <${Link} to=${href(`/turn/${each.ref.slice(5)}`, { start: each.span.start, end: each.span.end })}>${each.text.length > 400 ? `${each.text.slice(0, 400)}…` : each.text}<//>
      ${each.times > 1 && html` <span class="faint">×${each.times}</span>`} ${each.mark && html`<${Badge}>${each.mark}<//>`}
    </li>`)}</ul>`;
}
