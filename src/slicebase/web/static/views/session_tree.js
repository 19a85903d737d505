// The tree of a session: rows of one height, with the lanes of branches, of which only those in sight exist.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "slicebase/lib/html.js";
import { LARGER } from "slicebase/lib/ui.js";
import { isMarked } from "slicebase/views/session_lost.js";
import { inSlice } from "slicebase/views/session_slice.js";

const HEIGHT = Math.round(24 * LARGER); // pixels of a row
const LANE = 11; // pixels between two lanes, where there are few
const LANES = 132; // pixels of all lanes
const SPARE = 12; // rows above and below those in sight
const COUNTED = 100; // turns that follow one: the server counts no more
const REASONS = {
  __proto__: null,
  budget: "on the frontier when max_nodes was reached",
  radius: "beyond max_radius",
  "sibling limit": "a sibling beyond max_siblings_per_node",
};

/** Where keys lead from a row. */
const MOVES = {
  __proto__: null,
  ArrowUp: (at) => at - 1,
  ArrowDown: (at) => at + 1,
  PageUp: (at, page) => at - page,
  PageDown: (at, page) => at + page,
  Home: () => 0,
  End: (at, page, last) => last,
};

/** The tree. `rows` is of `useRows`; `slice` has what is drawn on it: `{selected, left}`. */
export function Tree({ rows, chosen, anchor, slice, onChoose, onMove, onSeen, agents, jump }) {
  const box = useRef(null);
  const wanted = useRef(null); // the row that a key leads to, until it is there
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const first = Math.max(0, Math.floor(top / HEIGHT) - SPARE);
  const last = Math.min(rows.total, Math.ceil((top + height) / HEIGHT) + SPARE);
  useLayoutEffect(() => {
    const measured = new ResizeObserver(() => box.current && setHeight(box.current.clientHeight || 600));
    measured.observe(box.current);
    return () => measured.disconnect();
  }, []);
  useEffect(() => {
    const waiting = setTimeout(() => {
      rows.want(first, last);
      onSeen(Math.max(0, first), last - first);
    }, 20);
    return () => clearTimeout(waiting);
  }, [first, last, rows.total, rows.want]);
  useEffect(() => {
    if (jump === null || !box.current) return;
    const at = (jump.number - rows.begin) * HEIGHT;
    if (at < box.current.scrollTop + HEIGHT || at > box.current.scrollTop + box.current.clientHeight - 2 * HEIGHT) {
      box.current.scrollTop = Math.max(0, at - box.current.clientHeight / 3);
    }
  }, [jump, rows.total > 0]);
  const shown = [];
  for (let number = first; number < last; number += 1) shown.push(number);
  const chosenAt = jump === null ? first : jump.number - rows.begin;
  if (chosenAt >= 0 && chosenAt < rows.total && (chosenAt < first || chosenAt >= last)) shown.push(chosenAt); // a screen reader begins there
  const active = shown.find((number) => (rows.row(number) || {}).turn === chosen);
  const moveTo = (number) => {
    wanted.current = rows.row(number) ? null : number;
    if (wanted.current === null) onMove(rows.row(number));
    else rows.want(number, number);
  };
  useEffect(() => {
    if (wanted.current !== null && rows.row(wanted.current)) moveTo(wanted.current);
  }, [rows.turn]);
  const pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || active === undefined) return;
    const move = MOVES[event.key];
    const page = Math.max(1, Math.floor(height / HEIGHT) - 1);
    if (move) moveTo(Math.max(0, Math.min(rows.total - 1, move(active, page, rows.total - 1))));
    else if (event.key === "Enter" || event.key === " ") onChoose(rows.row(active));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<div class="tree" ref=${box} onScroll=${(event) => setTop(event.currentTarget.scrollTop)} role="listbox" aria-label="Turns" tabindex="0" aria-activedescendant=${active === undefined ? undefined : `row-${chosen}`} onKeyDown=${pressed}>
    <div class="tree-all" style=${{ height: `${rows.total * HEIGHT}px` }}>
      ${shown.map((number) => html`<${Row} key=${number} number=${number} row=${rows.row(number)} width=${rows.width} total=${rows.total}
        isMarked=${isMarked(rows.row(number), [rows.row(number - 1), rows.row(number + 1)])} isChosen=${(rows.row(number) || {}).turn === chosen} isAnchor=${(rows.row(number) || {}).turn === anchor} slice=${slice} onChoose=${onChoose} agents=${agents} />`)}
    </div>
    ${slice && html`<${Overview} slice=${slice} begin=${rows.begin} total=${rows.total} top=${top} height=${height} />`}
  </div>`;
}

/** How a turn was selected, in words. */
function selectedAs({ way, distance, priority, phase }) {
  if (!way) return `selected: distance ${distance}, ${phase}`;
  return `selected as ${way === "anchor" ? "the anchor" : way}: distance ${distance}, priority ${priority.toFixed(4)}, ${phase}`;
}

function Row({ number, row, isMarked, width, total, isChosen, isAnchor, slice, onChoose, agents }) {
  const style = { top: `${number * HEIGHT}px` };
  if (!row) return html`<div class="tree-row waiting" style=${style} aria-hidden="true"><span class="row-words faint">…</span></div>`;
  const selected = slice && inSlice(slice, row.turn, row.number);
  const left = slice && slice.left.get(row.turn);
  const why = !slice ? "" : selected
    ? selectedAs(selected)
    : left ? `left out: ${REASONS[left.reason]} (${left.way}, distance ${left.distance}, priority ${left.priority.toFixed(4)})` : "left out: no selected turn is beside it";
  const classes = ["tree-row", row.role, isChosen && "is-chosen", isAnchor && "anchor", row.kinds.length === 1 && row.kinds[0] === "thinking" && "thinks", slice && (selected ? `in phase-${selected.phase}` : left ? "out near" : "out"), row.compaction && !isMarked && "compacted-row"];
  const started = agents.get(row.turn);
  return html`<div id=${`row-${row.turn}`} class=${classes.filter(Boolean).join(" ")} style=${selected ? { ...style, "--fade": fade(selected.distance) } : style}
      role="option" aria-selected=${isChosen} aria-posinset=${number + 1} aria-setsize=${total} onClick=${() => onChoose(row)} title=${[why, row.time, row.text].filter(Boolean).join("\n")}>
    <${LaneLines} row=${row} width=${width} />
    <span class=${row.role === "assistant" ? "hidden-text" : "role-name"}>${row.role}</span>
    ${row.compaction && html`<span class="badge warn">${row.compaction === "summary" ? "compacted" : "mark"}</span>`}
    ${row.calls.length > 0 && html`<span class="call-name">${row.calls[0]}</span>`}
    <span class="row-words">${row.purged ? html`<em>purged</em>` : withoutName(row) || html`<em class="faint">${row.calls.length ? "" : "empty, or not shown by the client"}</em>`}</span>
    ${row.kinds.includes("error") && html`<span class="badge bad">error</span>`}
    ${started && html`<span class="badge" title=${started.map((each) => each.title || each.session).join("\n")}>${started.length === 1 ? "agent" : `${started.length} agents`}</span>`}
    ${row.branches > 1 && html`<span class="faint forks" title="turns that follow it">↳${row.branches}${row.branches >= COUNTED ? "+" : ""}</span>`}
    ${selected && html`<span class="distance" aria-label=${why}>${selected.way === "anchor" ? "anchor" : selected.distance}</span>`}
    ${left && html`<span class="reason" aria-label=${why}>${left.reason}</span>`}
  </div>`;
}

const fade = (distance) => String(Math.max(0.3, 1 - distance * 0.09));
const withoutName = (row) => (row.calls.length && row.text.startsWith(row.calls[0]) ? row.text.slice(row.calls[0].length + 1) : row.text);

/** The lines of a row: those that pass, and the turn itself with what comes to it and leaves it. */
function LaneLines({ row, width }) {
  const step = Math.min(LANE, LANES / width);
  const x = (lane) => 7 + lane * step;
  const middle = HEIGHT / 2;
  const own = x(row.lane);
  const lines = [];
  for (let lane = 0; lane < width; lane += 1) {
    const bit = 1 << lane;
    const above = row.above & bit;
    const below = row.below & bit;
    const to = x(lane);
    if (lane === row.lane) {
      if (above) lines.push(`M${own} 0V${middle}`);
      if (below) lines.push(`M${own} ${middle}V${HEIGHT}`);
      continue;
    }
    if (row.forks & bit && below) lines.push(`M${own} ${middle}C${to} ${middle} ${to} ${middle} ${to} ${HEIGHT}`);
    if (row.joins & bit && above) lines.push(`M${own} ${middle}C${to} ${middle} ${to} ${middle} ${to} 0`);
    if (above && below && !(row.joins & bit && !(row.below & bit))) lines.push(`M${to} 0V${HEIGHT}`);
  }
  const size = Math.ceil(14 + (width - 1) * step);
  return html`<svg class="lanes" width=${size} height=${HEIGHT} viewBox=${`0 0 ${size} ${HEIGHT}`} aria-hidden="true">
    <path class="lines" d=${lines.join("")} /><circle cx=${own} cy=${middle} r=${row.role === "user" ? 4.5 : 3.5} />
  </svg>`;
}

/** Where the selected turns are in all of the session, and which part is in sight. */
function Overview({ slice, begin, total, top, height }) {
  const at = (number) => `${(100 * number) / Math.max(1, total)}%`;
  return html`<div class="overview" aria-hidden="true" style=${{ top: `${top}px`, height: `${height}px` }}>
    <span class="sight" style=${{ top: at(top / HEIGHT), height: at(height / HEIGHT) }}></span>
    ${[...slice.selected.values(), ...slice.marks.values()].slice(0, 600).map((each) => html`<span key=${each.number} class=${`phase-${each.phase}`} style=${{ top: at(each.number - begin) }}></span>`)}
  </div>`;
}
