// The neighbourhood of a file as a graph. The server has computed the places; the same is below as a list.
import { useEffect, useRef } from "preact/hooks";
import { useAnswer } from "slicebase/lib/api.js";
import { fileAt } from "slicebase/lib/files.js";
import { html } from "slicebase/lib/html.js";
import { choose, go, isHere, Link } from "slicebase/lib/router.js";
import { Answered, count, Empty, LARGER, Panel } from "slicebase/lib/ui.js";

const WIDTH = 168;
const HEIGHT = 34;
const GAP = 112;
const ROW = 48;
const EDGE = 14;

const left = (place) => EDGE + place.column * (WIDTH + GAP);
const middle = (place) => EDGE + place.row * ROW + HEIGHT / 2;

const SPREAD = 15; // between the lines of several links between the same two files

/** The line of a link, as four points of a curve: from the side of one box to that of the other, or around a column; `shift` keeps lines apart. */
function way(source, target, shift) {
  const [from, to] = [middle(source) + shift, middle(target) + shift];
  if (source.column === target.column) {
    const side = left(source) + WIDTH;
    return [[side, from], [side + 56, from], [side + 56, to], [side + 2, to]];
  }
  const rightwards = source.column < target.column;
  const begin = rightwards ? left(source) + WIDTH : left(source);
  const end = rightwards ? left(target) - 2 : left(target) + WIDTH + 2;
  const half = (begin + end) / 2;
  return [[begin, from], [half, from], [half, to], [end, to]];
}

const point = ([a, b, c, d], at) => [0, 1].map((axis) => (1 - at) ** 3 * a[axis] + 3 * (1 - at) ** 2 * at * b[axis] + 3 * (1 - at) * at ** 2 * c[axis] + at ** 3 * d[axis]);

const LETTER = 5.6; // pixels of a letter on a line, at most on average
const LINE = 12;
const PLACES = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.2, 0.8, 0.15, 0.85, 0.1, 0.9]; // along a line, the best first

/** How much of two areas, `[left, top, right, bottom]`, is the same. */
const common = (one, other) => Math.max(0, Math.min(one[2], other[2]) - Math.max(one[0], other[0])) * Math.max(0, Math.min(one[3], other[3]) - Math.max(one[1], other[1]));

/** Where the word of each line stands, `[x, y]`: where it covers no box and no other word, else as little as possible. */
function wordPlaces(lines, words, boxes, width) {
  const taken = [...boxes];
  return lines.map((line, number) => {
    const half = (words[number].length * LETTER) / 2;
    let best = null;
    for (const lift of [3, -LINE + 1]) { // above its line, below it
      for (const at of PLACES) {
        const [onLine, y] = point(line, at);
        const x = Math.max(half, Math.min(width - half, onLine));
        const area = [x - half, y - lift - LINE + 2, x + half, y - lift + 3];
        const covered = taken.reduce((sum, each) => sum + common(area, each), 0);
        if (!best || covered < best.covered) best = { x, y: y - lift, area, covered };
        if (!covered) break;
      }
      if (!best.covered) break;
    }
    taken.push(best.area);
    return best;
  });
}

/** How far each link is from the middle of its boxes: links between the same two files stand beside each other. */
function shifts(links) {
  const pair = (each) => `${Math.min(each.source, each.target)} ${Math.max(each.source, each.target)}`;
  const counts = new Map();
  for (const each of links) counts.set(pair(each), (counts.get(pair(each)) || 0) + 1);
  const seen = new Map();
  return links.map((each) => {
    const [all, at] = [counts.get(pair(each)), seen.get(pair(each)) || 0];
    seen.set(pair(each), at + 1);
    return Math.max(-HEIGHT / 2, Math.min(HEIGHT / 2, (at - (all - 1) / 2) * SPREAD));
  });
}

const short = (text, length) => (Array.from(text).length > length ? `${Array.from(text).slice(0, length - 1).join("")}…` : text);

export function Neighbourhood({ id, query }) {
  const depth = ["1", "2", "3"].includes(query.depth) ? query.depth : "1";
  const infer = query.infer !== "false";
  const asked = useAnswer(`/files/${encodeURIComponent(id)}/neighbourhood`, { depth, infer });
  const aside = html`<label>links away <select value=${depth} onChange=${(event) => choose({ depth: event.currentTarget.value })}>${["1", "2", "3"].map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>
    <label><input type="checkbox" checked=${infer} onChange=${() => choose({ infer: infer ? "false" : null })} /> inferred</label>`;
  return html`<${Panel} title="Neighbourhood" id="neighbourhood" aside=${aside}>
    <${Answered} asked=${asked}>${(found) => html`<${Drawing} found=${found} />`}<//>
  <//>`;
}

function Drawing({ found }) {
  const box = useRef(null);
  useEffect(() => { // what was chosen is in sight, also where the graph is larger
    const [start] = found.places;
    if (box.current) box.current.scrollTo(LARGER * (left(start) + WIDTH / 2) - box.current.clientWidth / 2, LARGER * middle(start) - box.current.clientHeight / 2);
  }, [found]);
  if (found.places.length < 2) return html`<${Empty}>Nothing is linked with this file.<//>`;
  const width = EDGE * 2 + found.columns * (WIDTH + GAP) - GAP;
  const height = EDGE * 2 + (found.rows - 1) * ROW + HEIGHT;
  const inferred = found.links.some((each) => each.inferred);
  const aside = shifts(found.links);
  const lines = found.links.map((each, at) => way(found.places[each.source], found.places[each.target], aside[at]));
  const words = found.links.map((each) => short(each.rel, 15));
  const boxes = found.places.map((each) => [left(each), middle(each) - HEIGHT / 2, left(each) + WIDTH, middle(each) + HEIGHT / 2]);
  const spots = wordPlaces(lines, words, boxes, width);
  return html`<div class="scroll graph-box" ref=${box} tabindex="0" role="group" aria-label="Graph of links; the same is listed below">
      <svg class="link-graph" width=${width * LARGER} height=${height * LARGER} viewBox=${`0 0 ${width} ${height}`}>
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0,0.5 L8,4 L0,7.5 z" /></marker></defs>
        <g class="edges" aria-hidden="true">
          ${found.links.map((each, at) => { const [a, b, c, d] = lines[at]; return html`<path key=${at} class=${each.inferred ? "inferred" : ""} d=${`M${a} C${b} ${c} ${d}`} marker-end="url(#arrow)" />`; })}
          ${words.map((word, at) => html`<text key=${at} x=${spots[at].x} y=${spots[at].y} text-anchor="middle">${word}</text>`)}
        </g>
        ${found.places.map((place, at) => html`<${Box} key=${place.id} place=${place} start=${at === 0} />`)}
      </svg>
    </div>
    <p class="faint">${count(found.places.length - 1, "neighbour")}${inferred ? " · dashed: inferred, no file states it" : ""}${found.left_out > 0 ? ` · ${found.left_out.toLocaleString("en")} more ${found.left_out === 1 ? "is" : "are"} not drawn` : ""}</p>
    <details class="outline"><summary>as a list</summary><ul class="plain-list links">${found.links.map((each, at) => html`<li key=${at} class=${each.inferred ? "inferred" : ""}><${Named} place=${found.places[each.source]} /> <span class="rel">${each.rel}</span> <${Named} place=${found.places[each.target]} />${each.inferred && html` <span class="faint">inferred</span>`}</li>`)}</ul></details>`;
}

const Named = ({ place }) => (place.kind === "file" ? html`<${Link} to=${fileAt(place.id)}><bdi>${place.title || place.id}</bdi><//>` : html`<code>${place.id}</code>`);

function Box({ place, start }) {
  const [x, y] = [left(place), middle(place) - HEIGHT / 2];
  const title = place.title || place.id;
  const to = place.kind === "file" && isHere(fileAt(place.id)) ? fileAt(place.id) : null;
  const follow = (event) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(`${to}?show=links`);
  };
  const kind = start ? "start" : place.kind === "missing" ? "missing" : place.archived ? "archived" : place.kind;
  const inside = html`<rect x=${x} y=${y} width=${WIDTH} height=${HEIGHT} rx="6" /><svg x=${x} y=${y} width=${WIDTH - 6} height=${HEIGHT}><text x="9" y="15">${short(title, 22)}</text><text class="small" x="9" y="28">${place.kind === "file" ? `${place.type}${place.archived ? ", archived" : ""}` : place.kind}</text></svg>`;
  return to && !start
    ? html`<a class=${`box ${kind}`} href=${`${to}?show=links`} onClick=${follow} aria-label=${`${title}, ${place.type}`}><title>${title}</title>${inside}</a>`
    : html`<g class=${`box ${kind}`}><title>${title}</title>${inside}</g>`;
}
