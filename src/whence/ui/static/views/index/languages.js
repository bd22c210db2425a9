// Sizes by language: a table whose bars are of the column that it is ordered by.
import { change } from "../../lib/address.js";
import { html, useState } from "../../lib/dom.js";
import { bytes } from "../../lib/parts.js";
import { showFiles } from "./files.js";

/** @typedef {{language: string, files: number, units: number, lines: number, bytes: number}} Language */
/** @typedef {"bytes" | "lines" | "units" | "files"} Measure */

/** @type {[Measure, string, (value: number) => string][]} */
const MEASURES = [
  ["bytes", "Size", bytes],
  ["lines", "Lines", plain],
  ["units", "Units", plain],
  ["files", "Files", plain],
];
/** So many languages are shown at first: the others are small. */
const FEW = 10;

/** @param {number} value */
function plain(value) {
  return value.toLocaleString("en");
}

/** @param {string} written @returns {Measure} */
function measureOf(written) {
  return MEASURES.find(([name]) => name === written)?.[0] ?? "bytes";
}

/** @param {{languages: Language[], params: URLSearchParams}} props */
export function Languages({ languages, params }) {
  const [all, setAll] = useState(false);
  const by = measureOf(params.get("by") ?? "");
  const chosen = params.get("language") ?? "";
  const ordered = [...languages].sort((a, b) => b[by] - a[by] || a.language.localeCompare(b.language));
  const most = Math.max(...ordered.map((one) => one[by]), 1);
  const shown = all ? ordered : ordered.slice(0, FEW);
  return html`<section class="card languages" aria-labelledby="languages">
    <h2 id="languages">Languages <span class="dim">${ordered.length}</span></h2>
    <div class="measures" role="group" aria-label="Order and bars">${MEASURES.map(
      ([name, label]) => html`<button class="plain" aria-pressed=${name === by} onClick=${() => change({ by: name === "bytes" ? null : name })}>${label}</button>`,
    )}</div>
    <table>
      <thead><tr><th>Language</th><th class="plot"><span class="hidden">Plot</span></th>${MEASURES.map(
        ([name, label]) => html`<th class=${`number ${name === by ? "by" : "side"}`} aria-sort=${name === by ? "descending" : undefined}>${label}</th>`,
      )}</tr></thead>
      <tbody>${shown.map((one) => html`<${Row} one=${one} by=${by} most=${most} chosen=${one.language === chosen} />`)}</tbody>
    </table>
    ${ordered.length > FEW && html`<button class="plain" onClick=${() => setAll(!all)} aria-expanded=${all}>${all ? "Fewer" : `${ordered.length - FEW} more`}</button>`}
  </section>`;
}

/** @param {{one: Language, by: Measure, most: number, chosen: boolean}} props */
function Row({ one, by, most, chosen }) {
  const choose = () => {
    change({ language: chosen ? null : one.language, state: null, reason: null, page: null }, { step: true });
    if (!chosen) showFiles();
  };
  return html`<tr>
    <td><button class="plain name" aria-pressed=${chosen} onClick=${choose} title="list its files">${one.language}</button></td>
    <td class="plot" aria-hidden="true"><span class="bar" style=${`width:${(one[by] / most) * 100}%`}></span></td>
    ${MEASURES.map(([name, , written]) => html`<td class=${`number ${name === by ? "by" : "side"}`}>${written(one[name])}</td>`)}
  </tr>`;
}
