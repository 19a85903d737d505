// Sessions: the list of conversations, the newest first.
import { part, useGrowth, usePages } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { useSaid } from "slicebase/lib/keyboard.js";
import { choose, Link } from "slicebase/lib/router.js";
import { Badge, count, Empty, folder, More, SearchBox, shortName, When } from "slicebase/lib/ui.js";

const copied = (of) => `a copy of ${shortName(of.copy_of)}${of.purged ? ", which was purged" : ""}`;

/** What a session of a list is called: its title, or what was asked first, or why it has neither. */
export const nameOf = (of) => of.title || of.prompt || html`<span class="faint">${of.problem || (of.copy_of ? copied(of) : of.purged ? "purged" : "no prompt")}</span>`;

const thousands = (number) => (number < 1000 ? String(number) : number < 10000 ? `${(number / 1000).toFixed(1)}k` : `${Math.floor(number / 1000)}k`);

export function Sessions({ route }) {
  const query = route.query.q || "";
  const pages = usePages("/sessions", { query, limit: 60 }, "rows");
  useGrowth((grown) => Object.keys(grown.sessions).length && !pages.busy && window.scrollY < 200 && pages.again());
  useSaid(query && !pages.busy && !pages.problem ? `${query}: ${pages.more ? "at least " : ""}${count(pages.items.length, "session")}.` : "");
  return html`<h1>Sessions</h1>
    <div class="row sessions-search">
      <${SearchBox} value=${query} onWords=${(words) => choose({ q: words })} label="Filter sessions" placeholder="words, project:, tool:, file:, role:, kind:, after:, before:, -word" />
    </div>
    ${!pages.busy && !pages.problem && !pages.items.length && html`<${Empty}>${query ? "No session has this." : "No conversation is stored yet. `tt import` reads those of coding agents."}<//>`}
    <ul class="sessions">${pages.items.map((each) => html`<${SessionItem} key=${each.session} of=${each} />`)}</ul>
    <${More} pages=${pages} label="more sessions" />`;
}

function SessionItem({ of }) {
  const [base, agent] = of.session.split("#agent-");
  return html`<li class=${agent ? "agent" : ""}>
    <${Link} class="session-link" to=${`/session/${part(of.session)}`}>
      <span class="session-when"><${When} time=${of.ended} /></span>
      <span class="what">
        <span class="title">${of.problem && html`<${Badge} kind="bad" title=${of.problem}>unreadable<//> `}${agent && html`<span class="faint">subagent · </span>`}${nameOf(of)}</span>
        <span class="details">
          ${of.project && html`<span title=${of.project}>${folder(of.project)}</span>`}
          ${of.branch && html`<span class="mono">${of.branch}</span>`}
          ${of.model && html`<span>${of.model}</span>`}
          <span>${of.format}</span>
          <span class="mono faint">${shortName(base)}${agent ? `#${shortName(agent)}` : ""}</span>
        </span>
      </span>
      <span class="figures">
        <span class="num" title="turns">${of.turns.toLocaleString("en")}<span class="unit"> turns</span></span>
        <span class="num" title="tokens">${thousands(of.tokens)}<span class="unit"> tokens</span></span>
        <span class="num compacted" title="compactions">${of.compactions ? `${of.compactions} compacted` : ""}</span>
      </span>
    <//>
  </li>`;
}
