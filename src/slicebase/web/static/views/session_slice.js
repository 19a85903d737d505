// The context slice of a session page: the parameters of its policy, and what they select.
import { useEffect, useRef, useState } from "preact/hooks";
import { exported, get, part, useAnswer } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { useSaid } from "slicebase/lib/keyboard.js";
import { choose } from "slicebase/lib/router.js";
import { Busy, Copy, Empty, ProblemBox, Ref } from "slicebase/lib/ui.js";

const WAIT = 25; // milliseconds between a change and the request
export const PHASES = ["synthesis", "planning", "consolidation", "debugging", "exploration"];
const SLIDERS = [
  ["max_nodes", 1, 512, 1, "turns at most"],
  ["max_radius", 0, 64, 1, "hops at most"],
  ["salience_weight", 0, 1, 0.01, "how much salience adds"],
  ["distance_decay", 0, 1, 0.01, "what each hop leaves of a priority"],
  ["max_siblings_per_node", 0, 32, 1, "siblings of one turn"],
];
const WEIGHTS = PHASES.map((phase) => [phase, 0, 2, 0.01, `weight of ${phase}`]);
export const PARAMETERS = ["policy", ...SLIDERS.map(([name]) => name), ...PHASES, "include_siblings"];

/**
 * Asks for a slice as it is drawn: `{found, selected, marks, left, problem, milliseconds}`; null without an anchor.
 * `marks` has the selected turns that are not in sight by their rows in the tree, with a phase and a distance only.
 * It is asked for again when the session has grown: a new turn may belong to it.
 */
export function useSlice(session, anchor, given, seen, grown) {
  const [state, setState] = useState(null);
  const place = JSON.stringify([session, anchor, given, seen, grown]);
  useEffect(() => {
    if (!anchor) {
      setState(null);
      return undefined;
    }
    const control = new AbortController();
    const waiting = setTimeout(() => {
      const begun = performance.now();
      get(`/slices/${part(anchor)}/drawn`, { ...given, ...seen }, control.signal).then(
        (found) => setState({
          found, problem: null, milliseconds: performance.now() - begun,
          selected: new Map(found.selected.map((each) => [each.turn, each])),
          marks: new Map(found.session === session ? found.marks.map(([number, phase, distance]) => [number, { number, phase: found.marked_phases[phase], distance }]) : []), left: new Map(found.left_out.map((each) => [each.turn, each])),
        }),
        (problem) => problem.name !== "AbortError" && setState((old) => ({ ...(old || { found: null, selected: new Map(), marks: new Map(), left: new Map() }), problem })),
      );
    }, WAIT);
    return () => {
      clearTimeout(waiting);
      control.abort();
    };
  }, [place]);
  return state;
}

/** How a turn was selected; nothing if it was not. */
export const inSlice = (slice, turn, number) => slice.selected.get(turn) || slice.marks.get(number);

export function SlicePanel({ slice, anchor, given, onGiven }) {
  const policies = useAnswer("/policies");
  const drawn = slice && !slice.problem && slice.found;
  useSaid(drawn ? `The slice has ${drawn.turns.toLocaleString("en")} ${drawn.turns === 1 ? "turn" : "turns"}, to distance ${drawn.farthest}.` : "");
  if (!anchor) return html`<section class="slice-panel" aria-label="Context slice"><h2>Context slice</h2><${Empty}>Choose a turn and press <kbd>a</kbd>, or its button “anchor”: the turns that a policy selects around it are drawn on the tree.<//></section>`;
  const found = slice && slice.found;
  const values = found ? { ...found.parameters, ...found.parameters.phase_weights } : null;
  const set = (name, value, done) => {
    onGiven({ ...given, [name]: value }, done);
  };
  const names = policies.answer ? policies.answer.policies.map((each) => ({ name: each.names[0] || each.policy.split(":")[1], origin: each.origin })) : [{ name: given.policy || "default", origin: "" }];
  const isChanged = Object.keys(given).some((name) => name !== "policy" && given[name] !== "" && given[name] !== undefined);
  return html`<section class="slice-panel" aria-label="Context slice">
    <h2>Context slice <span class="faint">around <${Ref} to=${`turn:${anchor}`} /></span></h2>
    ${slice && slice.problem && html`<${ProblemBox} problem=${slice.problem} />`}
    ${!slice && html`<${Busy} />`}
    <div class="row"><label for="policy">policy</label>
      <select id="policy" disabled=${Boolean(exported)} value=${given.policy || "default"} onChange=${(event) => onGiven({ policy: event.currentTarget.value === "default" ? "" : event.currentTarget.value }, true)}>
        ${names.map(({ name, origin }) => html`<option key=${name} value=${name}>${name}${origin === "preset" ? "" : ` (${origin})`}</option>`)}
      </select>
      <button type="button" class="small" disabled=${!isChanged} onClick=${() => onGiven({ policy: given.policy || "" }, true)}>reset</button>
      ${!exported && html`<button type="button" class="small" onClick=${() => choose({ anchor: "" }, {})}>close</button>`}
    </div>
    ${values && html`<fieldset disabled=${Boolean(exported)}><legend class="hidden-text">Parameters</legend>
      ${SLIDERS.slice(0, 2).map((each) => html`<${Slider} key=${each[0]} of=${each} value=${values[each[0]]} given=${given} set=${set} />`)}
      <h3>Weights of phases</h3>
      ${WEIGHTS.map((each) => html`<${Slider} key=${each[0]} of=${each} value=${values[each[0]]} given=${given} set=${set} phase=${each[0]} count=${found.phases[each[0]] || 0} />`)}
      <h3>Priority</h3>
      ${SLIDERS.slice(2, 4).map((each) => html`<${Slider} key=${each[0]} of=${each} value=${values[each[0]]} given=${given} set=${set} />`)}
      <h3>Siblings</h3>
      <div class="slider"><label for="include_siblings">include_siblings</label><input id="include_siblings" type="checkbox" checked=${values.include_siblings} onChange=${(event) => set("include_siblings", String(event.currentTarget.checked), true)} /></div>
      <${Slider} of=${SLIDERS[4]} value=${values.max_siblings_per_node} given=${given} set=${set} />
    </fieldset>`}
    ${found && !slice.problem && html`<dl class="slice-hashes">
      <div><dt>selected</dt><dd><strong>${found.turns.toLocaleString("en")}</strong> ${found.turns === 1 ? "turn" : "turns"}, to distance ${found.farthest}${!exported && html` <span class="faint" data-live>in ${Math.max(1, Math.round(slice.milliseconds || 0))} ms</span>`}</dd></div>
      <div><dt>slice_id</dt><dd><code>${found.slice_id}</code></dd></div>
      <div><dt>policy</dt><dd><code>${found.policy}</code></dd></div>
      <div><dt>export</dt><dd><code>${found.export_hash}</code></dd></div>
      <div><dt>annotated by</dt><dd>${found.annotators.join(", ")}</dd></div>
    </dl>
    <p class="row"><${Copy} text=${found.command} label="copy as command" /> <${Copy} text=${found.slice_id} label="copy slice_id" /></p>
    <pre class="command">${found.command}</pre>
    ${found.more > 0 && html`<p class="faint">${found.more.toLocaleString("en")} selected turns that are not in sight are not drawn.</p>`}`}
  </section>`;
}

function Slider({ of: [name, least, most, step, title], value, given, set, phase, count }) {
  const input = useRef(null);
  const own = given[name];
  const shown = own !== undefined && own !== "" ? own : value;
  const top = Math.max(most, Math.ceil(value));
  const number = Number(shown);
  const typed = (event) => { // a value that no policy has becomes the nearest one; what is no number, the one before
    const box = event.currentTarget;
    const near = Math.max(least, step < 1 ? box.valueAsNumber : Math.round(box.valueAsNumber));
    if (Number.isNaN(near)) box.value = written;
    else {
      box.value = String(near);
      set(name, String(near), true);
    }
  };
  const written = step < 1 ? String(Math.round(number * 1e6) / 1e6) : String(number);
  return html`<div class=${`slider ${phase ? `phase-${phase}` : ""} ${own !== undefined && own !== "" ? "changed" : ""}`} title=${title}>
    <label for=${`p-${name}`}>${name}${phase ? html` <span class="faint">${count}</span>` : ""}</label>
    <input ref=${input} id=${`p-${name}`} type="range" min=${least} max=${top} step=${step} value=${shown}
      onInput=${(event) => set(name, event.currentTarget.value, false)} onChange=${(event) => set(name, event.currentTarget.value, true)} />
    <input type="number" aria-label=${`${name}, as a number`} min=${least} step=${step < 1 ? "any" : 1} value=${written} onChange=${typed} />
  </div>`;
}
