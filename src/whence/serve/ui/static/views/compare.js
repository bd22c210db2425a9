// Not there yet.
import { html } from "../lib/dom.js";

/** @param {import("../app.js").ViewProps} _props */
export function CompareView(_props) {
  return html`<main><h1>Compare</h1></main>`;
}
