// Not there yet.
import { html } from "../lib/dom.js";

/** @param {import("../app.js").ViewProps} _props */
export function MemoryView(_props) {
  return html`<main><h1>Memory</h1></main>`;
}
