// Not there yet.
import { html } from "../lib/dom.js";

/** @param {import("../app.js").ViewProps} _props */
export function ContextView(_props) {
  return html`<main><h1>Context</h1></main>`;
}
