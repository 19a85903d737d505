// Markup in JavaScript: `html` makes elements of Preact. A text in it is always a text, never markup.
import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);
