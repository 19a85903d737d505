// Parts of a context: its text with its pieces marked, the pieces with the parts of their scores, what was left out.
import { useEffect, useRef } from "preact/hooks";
import { html } from "slicebase/lib/html.js";
import { choose } from "slicebase/lib/router.js";
import { Badge, count, Empty, Facts, Ref } from "slicebase/lib/ui.js";

const millionths = (value) => (value / 1e6).toFixed(2);

/** How much of the budget is used. */
export function Budget({ used, limit }) {
  return html`<div class="meter budget"><span class="name">tokens</span>
    <span class="track" role="meter" aria-label="tokens" aria-valuemin="0" aria-valuemax=${limit} aria-valuenow=${used}><span class="used" style=${{ width: `${Math.min(100, (100 * used) / limit)}%` }}></span></span>
    <span class="num">${used.toLocaleString("en")} of ${limit.toLocaleString("en")}</span></div>`;
}

/** The complete text as a model gets it. The chosen piece is marked; a click on another one chooses it. */
export function ContextText({ text, pieces, chosen }) {
  const mark = useRef(null);
  useEffect(() => {
    if (mark.current) mark.current.scrollIntoView({ block: "nearest" });
  }, [chosen, text]);
  const letters = Array.from(text);
  const placed = pieces.filter((each) => each.at).sort((one, other) => one.at.start - other.at.start);
  const parts = [];
  let after = 0;
  for (const piece of placed) {
    const { start, end } = piece.at;
    const isChosen = piece.place === chosen;
    parts.push(html`<span class="frame">${letters.slice(after, start).join("")}</span>`);
    parts.push(html`<span key=${piece.place} ref=${isChosen ? mark : undefined} class=${isChosen ? "piece chosen" : "piece"} title=${`piece ${piece.place}`} onClick=${() => choose({ piece: piece.place })}>${letters.slice(start, end).join("")}</span>`);
    after = end;
  }
  parts.push(html`<span class="frame">${letters.slice(after).join("")}</span>`);
  return html`<pre class="context-text" dir="auto" tabindex="0" aria-label="The text of the context">${parts}</pre>`;
}

function Score({ parts, most }) {
  const shown = Object.entries(parts);
  return html`<ul class="score">${shown.map(([name, value]) => html`<li key=${name}><span class="name">${name}</span><span class="track" aria-hidden="true"><span class=${value < 0 ? "used less" : "used"} style=${{ width: `${Math.min(100, (100 * Math.abs(value)) / most)}%` }}></span></span><span class="num">${millionths(value)}</span></li>`)}</ul>`;
}

const isShort = (label) => label.length <= 40; // it has room beside a reference

/** The pieces of a context. `parts` of their scores are known only when a context is built. */
export function Pieces({ pieces, chosen }) {
  const most = Math.max(1, ...pieces.flatMap((each) => Object.values(each.parts || {}).map(Math.abs)));
  return html`<ol class="pieces">${pieces.map((each) => html`<li key=${each.place} class=${each.place === chosen ? "chosen" : ""}>
    <div class="row">
      <button type="button" class="small" aria-pressed=${each.place === chosen} aria-label=${`Piece ${each.place} in the text`} onClick=${() => choose({ piece: each.place === chosen ? "" : each.place })}>${each.place}</button>
      <${Ref} to=${each.ref} span=${each.span.start === 0 && each.span.end === each.length ? null : each.span} />
      <span class="faint label" dir="auto">${isShort(each.label) && each.label}</span>
      ${each.tokens !== undefined && html`<span class="faint num">${each.tokens} tokens</span>`}
      <strong class="num" title="score">${millionths(each.score)}</strong>
    </div>
    <div class="faint where" dir="auto">${each.group}${!isShort(each.label) && ` · ${each.label}`}${(each.span.start !== 0 || each.span.end !== each.length) && html` · characters ${each.span.start}–${each.span.end} of ${each.length.toLocaleString("en")}`}</div>
    ${each.parts && html`<${Score} parts=${each.parts} most=${most} />`}
  </li>`)}</ol>`;
}

const REASONS = { __proto__: null, tokens: "no room in the tokens", turns: "no room in the number of turns", score: "score too low", copy: "a copy of a piece that is there" };

/** What was left out, by reason, the best first. */
export function LeftOut({ all, listed }) {
  const reasons = Object.entries(all.reasons);
  if (!reasons.length) return html`<${Empty}>Nothing was left out.<//>`;
  return html`${reasons.map(([reason, [total, highest, lowest]]) => {
    const shown = listed.filter((each) => each.reason === reason);
    return html`<details class="reason" key=${reason} open=${reasons.length === 1}><summary><strong>${REASONS[reason] || reason}</strong> <${Badge}>${total.toLocaleString("en")}<//> <span class="faint num">scores ${millionths(highest)} to ${millionths(lowest)}</span></summary>
      <ol class="left-out">${shown.map((each) => html`<li key=${each.ref}><span class="num">${millionths(each.score)}</span> <${Ref} to=${each.ref} /></li>`)}</ol>
      ${shown.length < total && html`<p class="faint">${shown.length ? `The best ${shown.length} of ${total.toLocaleString("en")} are listed.` : "They are not listed: others are better."}</p>`}
    </details>`;
  })}`;
}

/** What a context was made with: names and versions, hashes, filters, and the context slices that pieces come from. */
export function Versions({ manifest }) {
  const filters = Object.entries(manifest.filters).map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(", ");
  return html`
    <${Facts} of=${{ ranker: manifest.ranker, tokenizer: manifest.tokenizer, renderer: manifest.renderer, filters, policy: manifest.policy_params_hash && html`<code>${manifest.policy_params_hash}</code>`, text: html`<code>${manifest.rendered_hash}</code>`, "left out": html`<code>${manifest.left_out.digest}</code>` }} />
    ${manifest.slices.length > 0 && html`<h3>Context slices</h3><p class="faint">${count(manifest.slices.length, "slice")} from which pieces come that were not found by words.</p>
      <ul class="slices">${manifest.slices.map((each) => html`<li key=${each.anchor_turn_id}><${Ref} to=${`turn:${each.anchor_turn_id}`} /> <span class="faint">slice</span> <code>${each.slice_id}</code> <span class="faint">export</span> <code class="hash">${each.export_hash}</code> <span class="faint">${each.annotators.join(", ")}</span></li>`)}</ul>`}`;
}
