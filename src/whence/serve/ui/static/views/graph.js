// Not there yet.
import { html } from "../lib/dom.js";

/** @param {import("../app.js").ViewProps} _props */
export function GraphView(_props) {
  return html`<main><h1>Graph</h1></main>`;
}
