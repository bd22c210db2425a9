// Some lines of a file.
import { get } from "./api.js";
import { useAnswer } from "./asking.js";
import { html } from "./dom.js";
import { Code, Wrong } from "./parts.js";

/** @param {{root: string, path: string, first: number, last: number}} props */
export function Excerpt({ root, path, first, last }) {
  const { answer, error } = useAnswer({ root, path, first, last }, (one, signal) => get("source", one, signal));
  if (error) return html`<${Wrong} error=${error} />`;
  return answer ? html`<${Code} lines=${answer.lines} />` : html`<p class="dim">Reading …</p>`;
}
