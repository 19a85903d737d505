// Texts of others: Markdown, code, differences. Everything becomes elements with texts in them; nothing becomes markup.
import hljs from "highlight";
import { marked } from "marked";
import { useState } from "preact/hooks";
import { html } from "slicebase/lib/html.js";

const LONGEST_MARKED = 200_000; // characters: what is longer is shown as it is
const LONGEST_COLOURED = 50_000;
const DEEPEST = 40;
const MOST_WORK = 20_000_000; // characters that are looked at again and again
const MOST_CELLS = 20_000;
const NESTED = /^(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){40}/m; // lists and quotes in one line
const LONG = 4000; // characters of a text that is folded

/** A text as it is. A long one is folded. */
export function Plain({ text, limit = LONG }) {
  const [open, setOpen] = useState(false);
  const isLong = text.length > limit;
  const shown = isLong && !open ? text.slice(0, limit) : text;
  return html`<div class="plain"><pre dir="auto">${shown}${isLong && !open ? "…" : ""}</pre>
    ${isLong && html`<button type="button" class="small" onClick=${() => setOpen(!open)}>${open ? "fold" : `show all ${text.length.toLocaleString("en")} characters`}</button>`}
  </div>`;
}

/** Code, coloured if its language is known and it is not huge. */
export function Code({ text, language }) {
  const known = language && hljs.getLanguage(language);
  if (!known || text.length > LONGEST_COLOURED) return html`<${Plain} text=${text} />`;
  let spans = null;
  try {
    spans = coloured(hljs.highlight(text, { language, ignoreIllegals: true })._emitter.rootNode.children, 0);
  } catch {
    return html`<${Plain} text=${text} />`;
  }
  return html`<pre class="code" dir="ltr"><code>${spans}</code></pre>`;
}

function coloured(nodes, depth) {
  if (depth > DEEPEST) throw new RangeError("code that is nested too deeply");
  return nodes.map((node) => (typeof node === "string" ? node : html`<span class=${`hl-${String(node.scope || "").split(".")[0]}`}>${coloured(node.children, depth + 1)}</span>`));
}

/** A difference of two texts, line by line: lines that begin with + or -. */
export function Diff({ lines }) {
  const kind = (line) => ({ "+": "added", "-": "removed", "@": "hunk" })[line[0]] || "";
  return html`<pre class="diff" dir="ltr">${lines.map((line, number) => html`<span key=${number} class=${kind(line)}>${line}${"\n"}</span>`)}</pre>`;
}

// Some texts take marked a time that grows with the square of their length, or more. It gives up where a text is one.
let work = 0;
marked.use({
  tokenizer: {
    escape(rest) { // is asked first at each place of a line
      work += rest.length;
      if (work > MOST_WORK) throw new RangeError("Markdown that takes too long");
      return false;
    },
    table(rest) { // each row gets as many cells as the first, whatever it has
      const end = rest.search(/\n[ \t]*(?:\n|$)/);
      const rows = rest.slice(0, end < 0 ? rest.length : end).split("\n");
      return rows[0].split("|").length * rows.length > MOST_CELLS ? undefined : false;
    },
  },
});

/** Markdown, read by marked and shown as elements. Raw HTML in it is shown as text, links lead only to the web. */
export function Markdown({ text }) {
  if (text.length > LONGEST_MARKED || NESTED.test(text)) return html`<${Plain} text=${text} />`;
  let tokens = null;
  work = 0;
  try {
    tokens = marked.lexer(text);
  } catch {
    return html`<${Plain} text=${text} />`;
  }
  return html`<div class="markdown" dir="auto">${blocks(tokens, 0)}</div>`;
}

function blocks(tokens, depth) {
  if (depth > DEEPEST) return tokens.map((token) => token.raw);
  return tokens.map((token) => block(token, depth + 1));
}

function block(token, depth) {
  switch (token.type) {
    case "space":
    case "checkbox": // of a task: its item shows it
      return null;
    case "heading":
      return html`<p class=${`heading level-${token.depth}`} role="heading" aria-level=${Math.min(6, token.depth + 2)}>${inline(token.tokens, depth)}</p>`;
    case "paragraph":
      return html`<p>${inline(token.tokens, depth)}</p>`;
    case "code":
      return html`<${Code} text=${token.text} language=${(token.lang || "").split(/\s/)[0]} />`;
    case "blockquote":
      return html`<blockquote>${blocks(token.tokens, depth)}</blockquote>`;
    case "list": {
      const items = token.items.map((item) => html`<li>${item.task ? html`<input type="checkbox" checked=${Boolean(item.checked)} disabled aria-label="task" /> ` : null}${blocks(item.tokens, depth)}</li>`);
      return token.ordered ? html`<ol start=${token.start || 1}>${items}</ol>` : html`<ul>${items}</ul>`;
    }
    case "table":
      return html`<div class="scroll"><table>
        <thead><tr>${token.header.map((cell) => html`<th>${inline(cell.tokens, depth)}</th>`)}</tr></thead>
        <tbody>${token.rows.map((row) => html`<tr>${row.map((cell) => html`<td>${inline(cell.tokens, depth)}</td>`)}</tr>`)}</tbody>
      </table></div>`;
    case "hr":
      return html`<hr />`;
    case "text":
      return token.tokens ? html`<span>${inline(token.tokens, depth)}</span>` : token.text;
    default: // raw HTML and what marked adds later: the source
      return html`<span class="source">${token.raw}</span>`;
  }
}

const MARKS = { __proto__: null, strong: "strong", em: "em", del: "del" };

function inline(tokens, depth) {
  if (!tokens || depth > DEEPEST) return (tokens || []).map((token) => token.raw);
  return tokens.map((token) => {
    if (Object.hasOwn(MARKS, token.type)) return html`<${MARKS[token.type]}>${inline(token.tokens, depth + 1)}<//>`;
    switch (token.type) {
      case "text":
      case "escape":
        return token.tokens ? inline(token.tokens, depth + 1) : plainText(token.text);
      case "codespan":
        return html`<code>${plainText(token.text)}</code>`;
      case "br":
        return html`<br />`;
      case "checkbox":
        return null;
      case "link":
        return isWeb(token.href)
          ? html`<a href=${token.href} rel="noopener noreferrer nofollow" target="_blank" title=${token.href}>${inline(token.tokens, depth + 1)}</a>`
          : html`<span title=${token.href}>${inline(token.tokens, depth + 1)}</span>`;
      case "image": // never loaded: it would tell another host that this was read
        return html`<span class="source" title=${token.href}>[image: ${token.text || token.href}]</span>`;
      default:
        return html`<span class="source">${token.raw}</span>`;
    }
  });
}

const ENTITIES = { __proto__: null, "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };
const plainText = (text) => text.replace(/&(?:amp|lt|gt|quot|#39);/g, (found) => ENTITIES[found]);

function isWeb(link) {
  try {
    return ["http:", "https:"].includes(new URL(link).protocol);
  } catch {
    return false;
  }
}
