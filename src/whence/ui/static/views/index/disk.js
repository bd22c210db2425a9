// How much room each part of an index takes, as one bar.
import { html } from "../../lib/dom.js";
import { bytes } from "../../lib/parts.js";

/** @typedef {{part: string, bytes: number}} DiskPart */

/** What each part is for. @type {Record<string, string>} */
const MEANING = {
  segments: "words, symbols and what was parsed",
  vectors: "meaning of passages",
  graph: "who calls, extends and tests whom",
  columns: "history, and what depends on all files",
  database: "which files are known, and their state",
  learned: "what was learned from use",
  others: "locks, seals and the list of runs",
};

/** @param {{disk: DiskPart[], total: number, directory: string}} props */
export function DiskUse({ disk, total, directory }) {
  const share = (/** @type {DiskPart} */ one) => (one.bytes / (total || 1)) * 100;
  return html`<section class="card disk" aria-labelledby="disk">
    <h2 id="disk">On disk <span class="dim">${bytes(total)}</span></h2>
    <div class="stacked" aria-hidden="true">${disk.map((one, place) => html`<i class=${`shade-${Math.min(place, 5)}`} style=${`flex:${share(one)}`} title=${`${one.part}: ${bytes(one.bytes)}`}></i>`)}</div>
    <table class="legend">
      <thead class="hidden"><tr><th>Part</th><th>What it holds</th><th>Size</th><th>Share</th></tr></thead>
      <tbody>${disk.map(
        (one, place) => html`<tr>
          <th scope="row"><i class=${`swatch shade-${Math.min(place, 5)}`} aria-hidden="true"></i>${one.part}</th>
          <td class="dim">${MEANING[one.part] ?? ""}</td>
          <td class="number">${bytes(one.bytes)}</td>
          <td class="number dim">${share(one) < 1 ? "< 1" : share(one).toFixed(0)} %</td>
        </tr>`,
      )}</tbody>
    </table>
    <p class="dim path">${directory}</p>
  </section>`;
}
