// The cited words of a text that can change: marked where they are now, and a note where they are not.
import { part, useAnswer } from "slicebase/lib/api.js";
import { html } from "slicebase/lib/html.js";
import { Badge, ProblemBox } from "slicebase/lib/ui.js";

/**
 * Returns where the words are that an address cites: `{reads, problem, status, quote, span}`.
 * Without evidence in the address, the span is the one that it gives; `span` is null where the words are not.
 */
export function useCited(query) {
  const asked = useAnswer(query.cited ? `/evidence/${part(query.cited)}` : null, { around: 0 });
  const given = { start: Number(query.start) || 0, end: query.end ? Number(query.end) : null };
  if (!query.cited) return { reads: false, problem: null, status: "found", quote: null, span: given };
  if (!asked.answer) return { reads: !asked.problem, problem: asked.problem, status: "", quote: null, span: null };
  return { reads: false, problem: null, status: asked.answer.status, quote: asked.answer.quote, span: asked.answer.now };
}

const NOTES = {
  __proto__: null,
  changed: "The text has changed since it was cited.",
  gone: "The text that was cited is not here any more.",
  purged: "The words that were cited were purged.",
};

/** What has become of cited words, where they are not as they were. */
export function CitedNote({ cited }) {
  if (cited.problem) return html`<${ProblemBox} problem=${cited.problem} />`;
  if (!NOTES[cited.status]) return null;
  return html`<p class="cited-note"><${Badge} kind=${cited.status === "purged" ? "" : "warn"}>${cited.status}<//> ${NOTES[cited.status]}
    ${cited.span ? " The cited words are still in it." : cited.quote !== null && html` It was: <q dir="auto"><s>${cited.quote}</s></q>`}</p>`;
}
