// Not there yet.
import { html } from "../lib/dom.js";

/** @param {import("../app.js").ViewProps} _props */
export function IndexView(_props) {
  return html`<main><h1>Index</h1></main>`;
}
