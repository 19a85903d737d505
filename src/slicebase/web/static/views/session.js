// A session: its tree, a branch of it as a chat, and the context slice around a turn drawn on both.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { exported, part, useAnswer, useGrowth } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { say, useKeys } from "slicebase/lib/keyboard.js";
import { choose, go, href, Link, useTitle } from "slicebase/lib/router.js";
import { useReading, useRows } from "slicebase/lib/session_windows.js";
import { Answered, Badge, Busy, Copy, count, Empty, folder, ProblemBox, When } from "slicebase/lib/ui.js";
import { Chat } from "slicebase/views/session_chat.js";
import { PARAMETERS, SlicePanel, useSlice } from "slicebase/views/session_slice.js";
import { Tree } from "slicebase/views/session_tree.js";

export const SESSION_KEYS = [
  ["j k", "next, previous turn"],
  ["Up Down", "previous, next turn in the tree, when it has the focus"],
  ["[ ]", "other branch"],
  ...(exported ? [] : [["a", "anchor here, or no anchor"]]),
  ["Enter", "open or fold what is in the turn"],
  ["Home End", "first turn, last turn of the newest branch"],
  ["t", "tree, chat, slice (narrow page)"],
];
const tabsOf = (anchor) => (anchor || !exported ? ["chat", "tree", "slice"] : ["chat", "tree"]);
const QUIET = 20000; // milliseconds after growth was said, in which more of it is not

export function Session({ route }) {
  if (route.parts[0] === "turn") return html`<${TurnLanding} route=${route} />`;
  return html`<${SessionPage} key=${route.parts[1]} name=${route.parts[1]} query=${route.query} />`;
}

/** `/turn/…`: finds the session of a turn, and goes there. */
function TurnLanding({ route }) {
  const asked = useAnswer(`/turns/${part(route.parts[1])}`);
  useEffect(() => {
    if (!asked.answer) return;
    const { session, shown } = asked.answer;
    go(href(`/session/${part(session)}`, { ...route.query, turn: shown.turn }), { replace: true });
  }, [asked.answer]);
  return asked.problem ? html`<h1>Turn</h1><${ProblemBox} problem=${asked.problem} />` : html`<${Busy} />`;
}

function SessionPage({ name, query }) {
  const asked = useAnswer(`/sessions/${part(name)}`);
  return html`<div class="session-page"><${Answered} asked=${asked} title=${name}>${(view) => (view.turns
    ? html`<${Whole} view=${view} query=${query} again=${asked.again} />`
    : html`<h1>${view.session}</h1><${NoTurns} of=${view.figures} />`)}<//></div>`;
}

function NoTurns({ of }) {
  if (!of || !of.copy_of) return html`<${Empty}>This session has no turns.<//>`;
  return html`<p>This session is a copy of <${Link} to=${`/session/${part(of.copy_of)}`}>${of.copy_of}<//>, which has all of its turns${of.purged ? " and was purged" : ""}.</p>`;
}

function Whole({ view, query, again }) {
  const session = view.session;
  const anchorGiven = query.anchor || "";
  const rows = useRows(session);
  const [lost, setLost] = useState(""); // an anchor that is not there: the slice says so, and the chat begins at the beginning
  const begin = query.turn || (anchorGiven === lost ? "" : anchorGiven) || view.first;
  const reading = useReading(begin);
  const chosen = (reading.turns.find((each) => each.turn.startsWith(begin)) || { turn: begin }).turn; // ids may be short
  const [seen, setSeen] = useState({ first: 0, limit: 0 });
  const [draft, setDraft] = useState(null);
  const [grown, setGrown] = useState(0);
  const later = useRef(0);
  const told = useRef(0);
  const inAddress = Object.fromEntries(PARAMETERS.filter((each) => query[each] !== undefined && query[each] !== "").map((each) => [each, query[each]]));
  const given = draft || inAddress;
  const slice = useSlice(session, anchorGiven, given, exported ? exported.seen : seen, grown);
  useEffect(() => {
    if (slice && slice.problem && reading.problem && slice.problem.code === reading.problem.code) setLost(anchorGiven);
  }, [slice, reading.problem]);
  const drawn = slice && slice.found && !slice.problem ? slice : null;
  const anchor = anchorGiven && slice && slice.found && slice.found.anchor.startsWith(anchorGiven) ? slice.found.anchor : anchorGiven;
  const onSeen = useCallback((first, limit) => setSeen((old) => (old.first === first && old.limit === limit ? old : { first, limit: Math.min(limit, 500) })), []);
  const onGiven = (values, done) => {
    setDraft(done ? null : values);
    if (done) choose(Object.fromEntries(PARAMETERS.map((each) => [each, values[each] === undefined ? "" : values[each]])));
  };
  const agents = useMemo(() => {
    const found = new Map();
    for (const each of view.agents) found.set(each.turn, [...(found.get(each.turn) || []), each]);
    return found;
  }, [view]);
  const current = reading.turns.find((each) => each.turn === chosen);
  const number = current ? current.number : null;
  const jump = useMemo(() => (number === null ? null : { number }), [number]);
  const grow = (turns) => {
    rows.refresh(turns);
    reading.again();
    setGrown(turns);
    if (Date.now() - told.current > QUIET) {
      told.current = Date.now();
      say(`The session grows: ${count(turns, "turn")}.`);
    }
  };
  useGrowth(({ sessions, began }) => {
    if (began) again();
    if (!Object.hasOwn(sessions, session)) return;
    grow(sessions[session]);
    clearTimeout(later.current);
    later.current = setTimeout(again, 1500); // the last turn, the figures
  });
  const shownFirst = useRef(view.turns);
  useEffect(() => { // it grew before the server began to watch
    if (view.turns > Math.max(shownFirst.current, grown)) grow(view.turns);
  }, [view.turns]);
  const branches = useRef(0);
  useEffect(() => {
    if (branches.current && branches.current !== rows.branches) reading.refork();
    branches.current = rows.branches;
  }, [rows.branches]);
  const cited = query.start !== undefined && query.end !== undefined && query.turn ? { turn: chosen, start: Number(query.start), end: Number(query.end) } : null;
  useEffect(() => { // a turn of another session: its page shows it
    if (reading.session && reading.session !== session) go(href(`/session/${part(reading.session)}`, query), { replace: true });
  }, [reading.session]);
  useSessionKeys({ reading, chosen, anchor, view, query });
  const tabs = tabsOf(anchor);
  const tab = tabs.includes(query.tab) ? query.tab : "chat";
  const figures = view.figures;
  const title = (figures && (figures.title || figures.prompt)) || session;
  useTitle(title);
  return html`
    <header class="session-head">
      <h1 title=${session}>${title}</h1>
      <p class="session-facts">
        ${figures && html`<${Figures} of=${figures} />`}
        <span>${count(rows.total || view.turns, "turn")}</span>
        ${view.branches > 1 && html`<span>${count(rows.branches || view.branches, "branch", "branches")}</span>`}
        ${view.continues.map((each) => html`<span key=${each.turn}>${session.includes("#agent-") ? "started by" : "continues"} <${Link} to=${`/turn/${each.turn}`} title=${each.title}>${each.session.slice(0, 8)}, turn ${each.turn.slice(0, 8)}<//></span>`)}
        ${view.agents.length > 0 && html`<${Agents} agents=${view.agents} />`}
        <span class="session-buttons">${view.compactions.map((each, place) => html`<button type="button" key=${each.turn} class="small" onClick=${() => choose({ turn: each.turn }, {})} title=${each.time || ""}>compaction ${place + 1}</button>`)}
        <button type="button" class="small" onClick=${() => choose({ turn: view.first, start: "", end: "" }, {})} title="Home">first</button>
        <button type="button" class="small" onClick=${() => choose({ turn: view.last, start: "", end: "" }, {})} title="End">last</button>
        <${Copy} text=${`session:${session}`} label="ref" />
        ${figures && figures.resume && html`<${Copy} text=${figures.resume} label="resume command" />`}</span>
        ${grown > 0 && html`<${Badge} kind="good" title="It grows while you watch.">live<//>`}
      </p>
    </header>
    <div class="session-tabs" role="group" aria-label="Parts of the page">${tabs.map((each) => html`<button type="button" key=${each} aria-pressed=${tab === each} onClick=${() => choose({ tab: each })}>${each}</button>`)}</div>
    <div class=${`session-columns show-${tab} ${anchor ? "has-slice" : exported ? "no-slice" : ""}`}>
      <section class="column tree-column" aria-label="Tree">
        ${rows.problem && html`<${ProblemBox} problem=${rows.problem} />`}
        <${Tree} rows=${rows} chosen=${chosen} anchor=${anchor} slice=${drawn} agents=${agents} jump=${jump} onSeen=${onSeen} onChoose=${(row) => choose({ turn: row.turn, start: "", end: "", tab: tab === "tree" ? "chat" : query.tab }, {})} onMove=${(row) => choose({ turn: row.turn, start: "", end: "" })} />
      </section>
      <section class="column chat-column" aria-label="Conversation">
        <${Chat} reading=${reading} session=${session} chosen=${chosen} anchor=${anchor} slice=${drawn} agents=${agents} cited=${cited} grown=${grown} />
      </section>
      ${(anchor || !exported) && html`<aside class="column slice-column"><${SlicePanel} slice=${slice} anchor=${anchor} given=${given} onGiven=${onGiven} /></aside>`}
    </div>`;
}

function Figures({ of }) {
  return html`${of.project && html`<span class="wide-only" title=${of.project}>${folder(of.project)}</span>`}
    ${of.branch && html`<code class="wide-only">${of.branch}</code>`}
    ${of.model && html`<span class="wide-only">${of.model}</span>`}
    <span class="wide-only">${of.format}</span>
    <span><${When} time=${of.started} />${of.ended !== of.started && html` – <${When} time=${of.ended} />`}</span>`;
}

function Agents({ agents }) {
  return html`<details class="agents"><summary>${count(agents.length, "subagent")}</summary>
    <ul>${agents.map((each) => html`<li key=${each.session}><${Link} to=${`/session/${part(each.session)}`}>${each.title || each.session.split("#agent-")[1]}<//> <span class="faint">${each.title && html`<span class="mono">${each.session.split("#agent-")[1].slice(0, 8)}</span> · `}${count(each.turns, "turn")}</span></li>`)}</ul></details>`;
}

function useSessionKeys({ reading, chosen, anchor, view, query }) {
  useKeys((event) => {
    const path = reading.turns.filter((each) => !each.beside || each.turn === chosen);
    const at = path.findIndex((each) => each.turn === chosen);
    const turnTo = (turn) => turn && choose({ turn, start: "", end: "" });
    if (event.key === "j" || event.key === "k") turnTo((path[at + (event.key === "j" ? 1 : -1)] || {}).turn);
    else if (event.key === "[" || event.key === "]") turnTo(otherBranch(path, at, event.key === "]" ? 1 : -1));
    else if (event.key === "a" && !exported) choose({ anchor: anchor === chosen ? "" : chosen, turn: chosen }, {});
    else if (event.key === "Home") turnTo(view.first);
    else if (event.key === "End") turnTo(view.last);
    else if (event.key === "t") choose({ tab: following(tabsOf(anchor), query.tab || "chat") });
    else if (event.key === "Enter" && !/^(A|BUTTON|SUMMARY)$/.test(event.target.tagName)) fold(chosen);
    else return;
    event.preventDefault();
  });
}

/** Returns the turn with which the nearest fork at or above a turn goes on otherwise. */
function otherBranch(path, at, step) {
  for (let place = at; place >= 0; place -= 1) {
    const branches = path[place] ? path[place].branches : [];
    if (branches.length > 1) {
      const at = branches.findIndex((each) => each.here) + step;
      const isAll = !path[place].branches_before && !path[place].branches_after; // else the first and the last are not here
      return (branches[isAll ? (at + branches.length) % branches.length : at] || {}).turn;
    }
  }
  return null;
}

function fold(turn) {
  const all = [...document.querySelectorAll(`[data-turn="${CSS.escape(turn)}"] .side > details`)];
  const open = !all.some((each) => each.open);
  for (const each of all) each.open = open;
}

const following = (names, name) => names[(names.indexOf(name) + 1) % names.length];
