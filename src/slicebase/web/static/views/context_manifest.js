// A recorded context: replayed byte for byte, asked again, and compared with another one.
import { exported, part, useAnswer, usePages } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { choose, href, Link } from "slicebase/lib/router.js";
import { Answered, Badge, Busy, Copy, count, Empty, Facts, Panel, Ref, When } from "slicebase/lib/ui.js";
import { Budget, ContextText, LeftOut, Pieces, Versions } from "slicebase/views/context_parts.js";

const REPLAYED = { __proto__: null, IDENTICAL: ["good", "identical, byte for byte"], PURGED: ["", "purged: words of it were deleted"], BROKEN: ["bad", "broken: not the text that was recorded"], UNVERIFIABLE: ["warn", "unverifiable: another renderer made it"] };
const CHANGE = { __proto__: null, added: "good", removed: "bad", changed: "warn", same: "" };
const score = (value) => (value / 1e6).toFixed(2);

function Side({ side, name }) {
  if (!side) return html`<td class="faint" data-side=${name}>–</td>`;
  const isWhole = side.span.start === 0 && side.span.end === side.length;
  return html`<td data-side=${name}><span class="num">${score(side.score)}</span> <span class="faint">piece ${side.place}, ${isWhole ? "whole" : `${side.span.start}–${side.span.end} of ${side.length}`}</span></td>`;
}

/** Two contexts, piece by piece. */
function Compared({ found, first, second, asks = "" }) {
  const told = { added: `only in ${second}`, removed: `only in ${first}`, changed: "changed", same: "the same" };
  const counts = Object.keys(CHANGE).map((name) => [name, found.pieces.filter((each) => each.change === name).length]);
  const order = ["removed", "added", "changed", "same"];
  const rows = [...found.pieces].sort((one, other) => order.indexOf(one.change) - order.indexOf(other.change));
  return html`<div class="row">${counts.map(([name, size]) => html`<${Badge} key=${name} kind=${size ? CHANGE[name] : ""}>${told[name]}: ${size}<//>`)}</div>
    ${asks && html`<p class="soft">${asks}</p>`}
    ${!found.pieces.length && html`<${Empty}>Neither has a piece.<//>`}
    ${rows.length > 0 && html`<table class="side-by-side"><thead><tr><th>piece</th><th>${first}</th><th>${second}</th><th>what differs</th></tr></thead>
      <tbody>${rows.map((each) => html`<tr key=${`${each.ref}${each.before ? each.before.place : 0}/${each.after ? each.after.place : 0}`} class=${each.change}>
        <td><${Ref} to=${each.ref} /> <span class="faint" dir="auto">${(each.after || each.before).label}</span></td>
        <${Side} side=${each.before} name=${first} /><${Side} side=${each.after} name=${second} />
        <td><${Badge} kind=${CHANGE[each.change]}>${each.change}<//> ${asks && (each.change === "added" || each.change === "removed") ? "" : each.what}</td>
      </tr>`)}</tbody></table>`}`;
}

function Again({ name }) {
  const asked = useAnswer(`/manifests/${part(name)}/again`);
  return html`<${Panel} title="Asked again now" id="again" aside=${html`<button type="button" class="small" onClick=${() => choose({ again: "" })}>close</button>`}>
    ${!asked.answer && !asked.problem && html`<${Busy}>building the context again …<//>`}
    ${(asked.answer || asked.problem) && html`<${Answered} asked=${asked}>${(found) => html`
      <p>${found.changes.length ? count(found.changes.length, "difference") : "No piece differs."} <span class="faint">Nothing was recorded.</span> <${Copy} text=${found.context.command} label="copy as command" /></p>
      <${Compared} found=${found} first="the recorded one" second="the new one" />`}<//>`}
  <//>`;
}

function With({ first, second }) {
  const asked = useAnswer(`/manifests/${part(first)}/diff/${part(second)}`);
  const [one, other] = [useAnswer(`/manifests/${part(first)}`), useAnswer(`/manifests/${part(second)}`)];
  const isAnother = one.answer && other.answer && one.answer.manifest.question !== other.answer.manifest.question;
  return html`<${Panel} title="Side by side" id="with" aside=${html`<button type="button" class="small" onClick=${() => choose({ with: "" })}>close</button>`}>
    <${Answered} asked=${asked}>${(found) => html`
      <p>This one beside <${Ref} to=${found.after} />${other.answer && html`: <span dir="auto">${other.answer.manifest.question}</span>, <${When} time=${other.answer.time} />, ${other.answer.manifest.tokens_used} of ${other.answer.manifest.budget.tokens} tokens`}</p>
      <${Compared} found=${found} first="this one" second="the other" asks=${isAnother ? "Their questions differ, so most pieces do, too." : ""} />`}<//>
  <//>`;
}

/** Chooses another recorded context to compare with. */
function Other({ name, chosen }) {
  const pages = usePages("/manifests", { limit: 100 }, "manifests");
  const isListed = !chosen || pages.items.some((each) => each.manifest_id === chosen);
  return html`<label>compare with <select value=${chosen} onChange=${(event) => choose({ with: event.currentTarget.value, again: "" }, {})}>
    <option value="">…</option>
    ${!isListed && html`<option value=${chosen}>${chosen}</option>`}
    ${pages.items.filter((each) => each.manifest_id !== name).map((each) => html`<option key=${each.manifest_id} value=${each.manifest_id}>${each.time.slice(0, 16).replace("T", " ")} ${each.question.slice(0, 60)} (${each.pieces})</option>`)}
  </select></label>`;
}

function Replay({ name, manifest, chosen }) {
  const asked = useAnswer(`/manifests/${part(name)}/replay`);
  const state = asked.answer && REPLAYED[asked.answer.status];
  return html`<${Panel} title="Replayed" id="replayed" aside=${asked.answer && html`<${Badge} kind=${state[0]}>${state[1]}<//> <${Copy} text=${asked.answer.text} label="copy" />`}>
    <${Answered} asked=${asked}>${(found) => html`
      ${found.problems.length > 0 && html`<ul class="problems">${found.problems.map((each, at) => html`<li key=${at}><${Badge} kind=${REPLAYED[each.status][0]}>${each.status}<//> <${Ref} to=${each.ref} /> ${each.found}</li>`)}</ul>`}
      <${ContextText} text=${found.text} pieces=${manifest.pieces.map((each, at) => ({ ...each, place: at + 1, at: found.at[at] }))} chosen=${chosen} />`}<//>
  <//>`;
}

export function Manifest({ route }) {
  const asked = useAnswer(`/manifests/${part(route.parts[1])}`);
  const chosen = Number(route.query.piece) || 0;
  return html`<${Answered} asked=${asked} title=${route.parts[1]}>${(found) => {
    const { manifest, manifest_id: name } = found;
    const best = manifest.left_out.best.map(([ref, reason, value]) => ({ ref, reason, score: value }));
    return html`<h1 dir="auto">${manifest.question}</h1>
      <section class="panel built" aria-label="Recorded context">
        <${Budget} used=${manifest.tokens_used} limit=${manifest.budget.tokens} />
        <${Facts} of=${{ recorded: html`<${When} time=${found.time} />`, "as of": html`<${When} time=${manifest.as_of} />`, pieces: `${manifest.pieces.length} of ${count(manifest.considered, "candidate")}`, id: html`<code>${name}</code>` }} />
        <div class="row actions">
          ${!exported && !route.query.again && html`<button type="button" onClick=${() => choose({ again: "1", with: "" }, {})}>Ask again</button>`}
          ${!exported && html`<${Other} name=${name} chosen=${route.query.with || ""} />`}
          <${Link} to=${href("/context", { q: manifest.question, tokens: manifest.budget.tokens, as_of: manifest.filters.last })}>ask it as a new question<//>
          <${Link} to=${href("/proof/why", { ref: name })}>why<//>
          <span class="space"></span>
          <${Copy} text=${`tt replay ${name}`} label="copy as command" />
        </div>
      </section>
      ${route.query.again && html`<${Again} name=${name} />`}
      ${route.query.with && html`<${With} key=${route.query.with} first=${name} second=${route.query.with} />`}
      <div class="context-columns">
        <${Replay} name=${name} manifest=${manifest} chosen=${chosen} />
        <${Panel} title="Pinned pieces, in the order of the text" id="pieces"><${Pieces} pieces=${manifest.pieces.map((each, at) => ({ ...each, place: at + 1 }))} chosen=${chosen} /><//>
      </div>
      <${Panel} title="Left out" id="left-out" aside="the manifest keeps the best few"><${LeftOut} all=${manifest.left_out} listed=${best} /><//>
      <${Panel} title="How it was made" id="made"><${Versions} manifest=${manifest} /><//>`;
  }}<//>`;
}
