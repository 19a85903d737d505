// The windows of a session: rows of its tree by their numbers, and turns of a branch. Only what is seen is asked for.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { exported, get, notExported, part } from "slicebase/lib/api.js";

const PAGE = 100; // rows that are asked for together
const KEPT_PAGES = 60;
const BEGIN = exported && exported.begin ? exported.begin : 0; // the number of the first row: an exported page may have a part of a session

/** Rows of a tree: `{row, want, total, begin, width, refresh, problem}`. `row(n)` is null until it is there; it is turn `begin` + n. */
export function useRows(session) {
  const pages = useRef(new Map());
  const asked = useRef(new Set());
  const stale = useRef(new Set()); // pages that have grown since they were asked for
  const inSight = useRef([0, 0]); // the pages that were wanted last
  const branches = useRef(0);
  const [state, setState] = useState({ total: 0, width: 1, branches: 0, turn: 0, problem: null });
  const load = useCallback(async (page) => {
    if (asked.current.has(page)) return;
    asked.current.add(page);
    try {
      const found = await get(`/trees/${part(session)}`, { first: BEGIN + page * PAGE, limit: PAGE });
      if (branches.current && branches.current !== found.branches) { // a new branch crosses rows that were there before
        pages.current.clear();
        for (let other = inSight.current[0]; other <= inSight.current[1]; other += 1) if (other !== page) load(other);
      }
      branches.current = found.branches;
      pages.current.delete(page);
      pages.current.set(page, found.rows);
      if (pages.current.size > KEPT_PAGES) pages.current.delete(pages.current.keys().next().value);
      setState((old) => ({ total: found.turns, width: found.width, branches: found.branches, turn: old.turn + 1, problem: null }));
    } catch (problem) {
      setState((old) => ({ ...old, problem }));
    } finally {
      asked.current.delete(page);
      if (stale.current.delete(page)) load(page);
    }
  }, [session]);
  const want = useCallback((first, last) => {
    inSight.current = [first, last].map((number) => Math.floor(Math.max(0, number) / PAGE));
    for (let page = inSight.current[0]; page <= inSight.current[1]; page += 1) {
      if (!pages.current.has(page)) load(page);
    }
  }, [load]);
  /** Turns were added: rows that were at the end are asked for again, which tells whether others changed. */
  const refresh = useCallback((total) => {
    setState((old) => {
      const from = Math.floor(Math.max(0, old.total - 1) / PAGE);
      for (const page of [...pages.current.keys()]) if (page >= from) pages.current.delete(page);
      return { ...old, total, turn: old.turn + 1 };
    });
    for (const page of asked.current) stale.current.add(page);
    load(Math.floor(Math.max(0, total - 1) / PAGE));
  }, [load]);
  const row = useCallback((number) => (pages.current.get(Math.floor(number / PAGE)) || [])[number % PAGE] || null, []);
  useEffect(() => {
    load(0);
  }, [load]);
  return { ...state, begin: BEGIN, row, want, refresh };
}

const STEP = 24; // turns that are read together
const MOST = 200; // turns of a chat that stay on the page: as many as the server gives at once

/** Reads turns of a branch around a turn. An exported page has all branches, and gives the whole one. */
async function readBranch(turn, params, signal) {
  if (!exported) return get(`/readings/${part(turn)}`, params, signal);
  const { turns, paths, path_of: pathOf } = exported.branches;
  if (!Object.hasOwn(pathOf, turn)) throw notExported();
  const path = paths[pathOf[turn]].filter(([name]) => Object.hasOwn(turns, name));
  const on = new Set(path.filter(([, beside]) => !beside).map(([name]) => name));
  const shown = path.map(([name, beside]) => ({ ...turns[name], beside, ...branchesHere(turns[name], on, (other) => Object.hasOwn(pathOf, other)) }));
  return { turns: shown, earlier: false, later: false };
}

/** The branches at a turn of an exported page: those that the page does not have are counted, but lead nowhere. */
function branchesHere({ branches, branches_before, branches_after }, on, has) {
  const here = branches.findIndex((each) => on.has(each.turn));
  const missing = (some) => some.filter((each) => !has(each.turn)).length;
  return {
    branches: branches.filter((each) => has(each.turn)).map((each) => ({ ...each, here: on.has(each.turn) })),
    branches_before: branches_before + missing(branches.slice(0, Math.max(0, here))),
    branches_after: branches_after + missing(branches.slice(here + 1)),
  };
}

/** A branch as a chat around a turn: `{turns, earlier, later, up, down, problem, busy}`. */
export function useReading(turn) {
  const [state, setState] = useState({ turns: [], earlier: false, later: false, center: null, problem: null });
  const busy = useRef({});
  const control = useRef(null);
  const growths = useRef(0);
  useEffect(() => {
    if (!turn || state.turns.some((each) => each.turn.startsWith(turn) && !each.beside)) return undefined;
    control.current = new AbortController();
    busy.current = {};
    readBranch(turn, { before: STEP / 2, after: STEP }, control.current.signal).then(
      (found) => setState({ session: found.session, turns: found.turns, earlier: found.earlier, later: found.later, center: (found.turns.find((each) => each.turn.startsWith(turn)) || {}).turn, problem: null }),
      (problem) => problem.name !== "AbortError" && setState({ turns: [], earlier: false, later: false, center: null, problem }), // the turns that are shown are others
    );
    return () => control.current.abort();
  }, [turn]);
  const extend = useCallback(async (direction) => {
    const { turns } = state;
    const path = turns.filter((each) => !each.beside);
    const edge = direction === "up" ? path[0] : path[path.length - 1];
    if (!edge || busy.current[direction]) return;
    busy.current[direction] = true;
    const before = growths.current;
    try {
      const found = await readBranch(edge.turn, { before: direction === "up" ? STEP : 0, after: direction === "up" ? 0 : STEP, alone: false });
      setState((old) => {
        if (old.turns !== turns && !old.turns.includes(edge)) return old;
        const known = new Set(old.turns.map((each) => each.turn));
        const more = found.turns.filter((each) => !known.has(each.turn));
        if (direction === "up") {
          const all = [...more, ...old.turns];
          return { ...old, turns: all.slice(0, MOST), earlier: found.earlier, later: old.later || all.length > MOST };
        }
        const all = [...old.turns, ...more];
        return { ...old, turns: all.slice(-MOST), later: found.later || growths.current !== before, earlier: old.earlier || all.length > MOST };
      });
    } catch (problem) {
      setState((old) => ({ ...old, problem }));
    } finally {
      busy.current[direction] = false;
    }
  }, [state]);
  /** The session has grown: what follows the last turn is asked for when it comes into sight. */
  const again = useCallback(() => {
    growths.current += 1; // an answer that is on its way does not know of it
    setState((old) => (old.turns.length ? { ...old, later: true } : old));
  }, []);
  /** The session has another branch: the turns that are shown are asked for again, since it may begin at one of them. */
  const refork = useCallback(async () => {
    const path = state.turns.filter((each) => !each.beside);
    if (!path.length) return;
    try {
      const found = await readBranch(path[path.length - 1].turn, { before: path.length - 1, after: 0 });
      const forks = new Map(found.turns.map(({ turn, branches, branches_before, branches_after }) => [turn, { branches, branches_before, branches_after }]));
      setState((old) => ({ ...old, turns: old.turns.map((each) => ({ ...each, ...forks.get(each.turn) })) }));
    } catch (problem) {
      setState((old) => ({ ...old, problem }));
    }
  }, [state]);
  return { ...state, up: () => extend("up"), down: () => extend("down"), again, refork };
}

/** Keeps what is read in its place when turns come in above it. Returns a reference for the element that scrolls. */
export function useSteadyScroll(turns) {
  const box = useRef(null);
  const seen = useRef(null);
  const before = box.current;
  if (before) {
    const top = before.getBoundingClientRect().top;
    const first = [...before.querySelectorAll("[data-turn]")].find((each) => each.getBoundingClientRect().bottom > top);
    seen.current = first ? { turn: first.dataset.turn, at: first.getBoundingClientRect().top - top } : null;
  }
  useLayoutEffect(() => {
    if (!box.current || !seen.current) return;
    const same = box.current.querySelector(`[data-turn="${seen.current.turn}"]`);
    if (!same) return;
    const moved = same.getBoundingClientRect().top - box.current.getBoundingClientRect().top - seen.current.at;
    if (Math.abs(moved) > 1) box.current.scrollTop += moved;
  }, [turns]);
  return box;
}
