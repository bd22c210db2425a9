// Why a file stands where it stands. (Placeholder until the waterfall is there.)
import { html } from "../../lib/dom.js";

/** @param {{asked: any, root: string, path: string}} props */
export function WhyPanel({ path }) {
  return html`<p>${path}</p>`;
}
