// Two versions of a text, by lines: what went and what came.
import { html } from "../../lib/dom.js";

const LOOKS = /** @type {Record<string, string>} */ ({ "-": "gone", "+": "new", "@": "gap" });

/** @param {{lines: import("./notes.js").DiffLine[], label: string}} props */
export function Diff({ lines, label }) {
  return html`<pre class="code diff" tabindex="0" role="group" aria-label=${label}><code>${lines.map(({ sign, then, now, text }) =>
    sign === "@"
      ? html`<span class="gap" aria-hidden="true">⋯${"\n"}</span>`
      : html`<span class=${`line ${LOOKS[sign] ?? ""}`}><span class="number" aria-hidden="true">${then ?? ""}</span><span class="number" aria-hidden="true">${now ?? ""}</span>${sign} ${text}${"\n"}</span>`,
  )}</code></pre>`;
}
