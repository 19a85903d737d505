// A branch as a chat: turns are read in both directions as one scrolls, and stay in their place.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { exported } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { useSteadyScroll } from "slicebase/lib/session_windows.js";
import { Busy, ProblemBox } from "slicebase/lib/ui.js";
import { isMarked } from "slicebase/views/session_lost.js";
import { inSlice } from "slicebase/views/session_slice.js";
import { TurnBlock } from "slicebase/views/session_turn.js";

const [BEGINNING, END] = exported && exported.cut ? ["this page begins here", "this page ends here"] : ["the beginning", "the end"];
const NEAR = 900; // pixels from an end at which more is read
const AT_END = 60; // pixels from the end at which one reads the end
const DRAWN = 250; // milliseconds after which what was added has its height

export function Chat({ reading, session, chosen, anchor, slice, agents, cited, grown }) {
  const box = useSteadyScroll(reading.turns);
  const atEnd = useRef(false); // whether the end is read, and followed: until one scrolls away from it
  const last = useRef(null);
  const look = () => {
    const here = box.current;
    if (!here) return;
    if (here.scrollTop < NEAR && reading.earlier) reading.up();
    if (here.scrollHeight - here.scrollTop - here.clientHeight < NEAR && reading.later) reading.down();
  };
  const scrolled = () => { // the end of what is read so far is not the end, unless that was followed up to here
    const here = box.current;
    if (here) atEnd.current = here.scrollHeight - here.scrollTop - here.clientHeight < AT_END && (atEnd.current || !reading.later);
    look();
  };
  useEffect(look, [reading.turns, reading.later, reading.earlier]);
  useEffect(() => {
    const here = box.current && chosen && box.current.querySelector(`[data-turn="${CSS.escape(chosen)}"]`);
    if (!here) return;
    const frame = box.current.getBoundingClientRect();
    const place = here.getBoundingClientRect();
    if (place.top < frame.top || place.top > frame.bottom - 80) box.current.scrollTop += place.top - frame.top - (reading.center === chosen ? 60 : 20);
    scrolled();
  }, [chosen, reading.center]);
  useLayoutEffect(() => { // before the browser says that it scrolled: what is added must not lead away from the end
    const { turns } = reading;
    const known = last.current;
    last.current = turns.length ? turns[turns.length - 1].turn : null;
    if (!grown || !atEnd.current || known === last.current || !turns.some((each) => each.turn === known)) return undefined;
    const follow = () => {
      if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
    };
    follow();
    const waiting = setTimeout(follow, DRAWN);
    return () => clearTimeout(waiting);
  }, [grown, reading.turns]);
  return html`<div class="chat" ref=${box} onScroll=${scrolled} tabindex="0" role="region" aria-label="Chat">
    ${reading.problem && html`<${ProblemBox} problem=${reading.problem} />`}
    ${reading.earlier ? html`<p class="faint end">earlier turns …</p>` : reading.turns.length > 0 && html`<p class="faint end">${BEGINNING}</p>`}
    ${reading.turns.map((turn, at) => html`<${TurnBlock} key=${turn.turn} turn=${turn} session=${session} isMarked=${isMarked(turn, [reading.turns[at - 1], reading.turns[at + 1]])} isChosen=${turn.turn === chosen} isAnchor=${turn.turn === anchor}
      hasSlice=${Boolean(slice)} selected=${slice ? inSlice(slice, turn.turn, turn.number) : null} agents=${agents.get(turn.turn)} cited=${cited && cited.turn === turn.turn ? cited : null} />`)}
    ${!reading.turns.length && !reading.problem && html`<${Busy} />`}
    ${reading.later ? html`<p class="faint end">later turns …</p>` : reading.turns.length > 0 && html`<p class="faint end">${END}</p>`}
  </div>`;
}
