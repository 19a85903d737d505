// Contexts: a question with the context that a model would see, the recorded ones, and one of them.
import { useLayoutEffect, useState } from "preact/hooks";
import { useAnswer, usePages } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { useSaid } from "slicebase/lib/keyboard.js";
import { go, href, Link } from "slicebase/lib/router.js";
import { Answered, Busy, Copy, count, Empty, More, Panel, When } from "slicebase/lib/ui.js";
import { Budget, ContextText, LeftOut, Pieces, Versions } from "slicebase/views/context_parts.js";
import { Manifest } from "slicebase/views/context_manifest.js";

const FIELDS = [
  ["tokens", "tokens", "number", "4000"],
  ["as_of", "as of", "text", "now"],
  ["run", "run", "text", "none"],
  ["policy", "policy", "text", "focused"],
];

function usePolicies() {
  const { answer } = useAnswer("/policies");
  return answer ? answer.policies.flatMap((each) => each.names) : [];
}

function useRuns() {
  const { answer } = useAnswer("/runs", { limit: 50 });
  return answer ? answer.runs.map((each) => each.run) : [];
}

function Asked({ query }) {
  const [values, setValues] = useState(query);
  useLayoutEffect(() => setValues(query), [JSON.stringify(query)]); // at once, before another key is pressed
  const set = (name) => (event) => setValues({ ...values, [name]: event.currentTarget.value });
  const ask = (event) => {
    event.preventDefault();
    const { q, tokens, as_of: asOf, run, policy } = values;
    go(href("/context", { q, tokens, as_of: asOf, run, policy }));
  };
  const names = { policy: usePolicies(), run: useRuns() };
  return html`<form class="ask" onSubmit=${ask}>
    <div class="row"><input type="search" aria-label="Question" placeholder="Ask a question: which context would a model get?" value=${values.q || ""} onInput=${set("q")} spellcheck=${false} autocomplete="off" />
      <button type="submit" class="main">Build</button></div>
    <div class="row options">${FIELDS.map(([name, label, type, otherwise]) => html`<label key=${name}>${label} <input type=${type} min=${type === "number" ? 64 : undefined} value=${values[name] || ""} placeholder=${otherwise} list=${names[name] ? `${name}-names` : undefined} onInput=${set(name)} /></label>`)}</div>
    ${Object.entries(names).map(([name, known]) => html`<datalist key=${name} id=${`${name}-names`}>${known.map((each) => html`<option key=${each} value=${each} />`)}</datalist>`)}
  </form>`;
}

function Built({ found, query }) {
  const { manifest } = found;
  useSaid(`The context has ${count(found.pieces.length, "piece")} of ${count(manifest.considered, "candidate")}.`);
  return html`
    <section class="panel built" aria-label="Budget">
      <${Budget} used=${manifest.tokens_used} limit=${manifest.budget.tokens} />
      <div class="row">
        <span>${count(found.pieces.length, "piece")} of ${count(manifest.considered, "candidate")}</span>
        <span class="faint">as of <${When} time=${manifest.as_of} /></span>
        ${found.narrowed_by.length > 0 && html`<span>narrowed by ${found.narrowed_by.map((each) => html`<code key=${each}>${each}</code> `)}</span>`}
        ${found.undated > 0 && html`<span>${count(found.undated, "text")} without a date left out</span>`}
        <span class="faint">looked at, not recorded</span>
        <span class="space"></span>
        <${Copy} text=${found.command} label="copy as command" />
      </div>
    </section>
    <div class="context-columns">
      <${Panel} title="As a model sees it" id="text" aside=${html`<${Copy} text=${found.text} label="copy" />`}><${ContextText} text=${found.text} pieces=${found.pieces} chosen=${Number(query.piece) || 0} /><//>
      <${Panel} title="Pieces, the best first" id="pieces" aside=${html`<a href="#left-out">left out: ${manifest.left_out.count}</a>`}>
        ${found.pieces.length ? html`<${Pieces} pieces=${found.pieces} chosen=${Number(query.piece) || 0} />` : html`<${Empty}>Nothing was found.<//>`}<//>
    </div>
    <${Panel} title="Left out" id="left-out"><${LeftOut} all=${manifest.left_out} listed=${found.left_out} /><//>
    <${Panel} title="How it was made" id="made"><${Versions} manifest=${manifest} /><//>`;
}

function Recorded() {
  const pages = usePages("/manifests", { limit: 50 }, "manifests");
  return html`<${Panel} title="Recorded contexts" id="recorded" aside="the newest first">
    ${!pages.items.length && !pages.busy && !pages.problem && html`<${Empty}>None yet: <code>tt context</code> records one.<//>`}
    ${pages.items.length > 0 && html`<table class="manifests">
      <thead><tr><th>question</th><th>recorded</th><th class="num">pieces</th><th class="num">tokens</th></tr></thead>
      <tbody>${pages.items.map((each) => html`<tr key=${each.manifest_id}>
        <td><${Link} to=${`/context/${each.manifest_id}`}><span dir="auto">${each.question || each.manifest_id}</span><//>${each.problem && html` <span class="faint">(${each.problem})</span>`}</td>
        <td class="when"><${When} time=${each.time} /></td>
        <td class="num" data-unit="pieces">${each.pieces}</td>
        <td class="num" data-unit="tokens">${each.tokens_used.toLocaleString("en")} of ${each.budget.toLocaleString("en")}</td>
      </tr>`)}</tbody>
    </table>`}
    <${More} pages=${pages} />
  <//>`;
}

export function ContextView({ route }) {
  const { piece, ...query } = route.query;
  const asked = useAnswer(query.q && !route.parts[1] ? "/context" : null, { q: query.q, tokens: query.tokens, as_of: query.as_of, run: query.run, policy: query.policy });
  if (route.parts[1]) return html`<${Manifest} key=${route.parts[1]} route=${route} />`;
  return html`<h1>Context</h1>
    <${Asked} query=${query} />
    ${query.q && !asked.answer && !asked.problem && html`<${Busy}>building the context …<//>`}
    ${query.q && (asked.answer || asked.problem) && html`<${Answered} asked=${asked}>${(found) => html`<${Built} found=${found} query=${route.query} />`}<//>`}
    ${!query.q && html`<${Recorded} />`}`;
}
