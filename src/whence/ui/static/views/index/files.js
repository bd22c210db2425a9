// Every file, indexed or left out: filtered as one types, a page at a time.
import { change, linkTo } from "../../lib/address.js";
import { get } from "../../lib/api.js";
import { useAnswer } from "../../lib/asking.js";
import { html } from "../../lib/dom.js";
import { bytes, counted, Wrong } from "../../lib/parts.js";

/** @typedef {{path: string, bytes: number, language: string, units: number, lines: number, reason: string}} FileRow */
/** @typedef {{total: number, page: number, pages: number, files: FileRow[]}} FilesAnswer */

const FIELD = "file-filter";

/** Put the cursor into the filter. */
export function focusFilter() {
  const field = document.getElementById(FIELD);
  if (field instanceof HTMLInputElement) {
    field.focus();
    field.select();
  }
}

/** Show the list, which is far below what it is narrowed by. */
export function showFiles() {
  document.getElementById("files")?.scrollIntoView({ block: "start" });
}

/** @param {{root: string, params: URLSearchParams, languages: string[], settled: number}} props */
export function FileList({ root, params, languages, settled }) {
  const asked = {
    root,
    q: params.get("q") ?? "",
    state: params.get("state") === "left_out" ? "left_out" : "indexed",
    language: params.get("language") ?? "",
    reason: params.get("reason") ?? "",
    order: params.get("order") === "bytes" || params.get("order") === "units" ? params.get("order") : "path",
    page: Number(params.get("page")) || 1,
  };
  const { answer, error } = useAnswer(asked, (one, signal) => get("index/files", one, signal), settled);
  return html`<section class="files" aria-labelledby="files">
    <h2 id="files">Files ${answer && html`<span class="dim" role="status">${counted(answer.total, "file")}</span>`}</h2>
    <${Filters} asked=${asked} languages=${languages} />
    <${Wrong} error=${error} />
    ${answer && html`<${Table} root=${root} answer=${answer} out=${asked.state === "left_out"} /><${Pages} answer=${answer} />`}
  </section>`;
}

/** @param {{asked: any, languages: string[]}} props */
function Filters({ asked, languages }) {
  const set = (/** @type {string} */ name) => (/** @type {Event & {currentTarget: HTMLInputElement | HTMLSelectElement}} */ event) =>
    change({ [name]: event.currentTarget.value, page: null });
  const state = (/** @type {Event & {currentTarget: HTMLSelectElement}} */ event) =>
    change({ state: event.currentTarget.value, language: null, reason: null, order: null, page: null }, { step: true });
  return html`<div class="row filters" role="search" aria-label="Files">
    <label class="grow" for=${FIELD}>Path holds
      <input id=${FIELD} type="search" value=${asked.q} placeholder="tests util.py" autocomplete="off" autocapitalize="off" spellcheck=${false} onInput=${set("q")} /></label>
    <label>State <select value=${asked.state === "indexed" ? "" : asked.state} onChange=${state}><option value="">indexed</option><option value="left_out">left out</option></select></label>
    ${asked.state === "indexed"
      ? html`<label>Language <select value=${asked.language} onChange=${set("language")}><option value="">all</option>${[...languages].sort().map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
          <label>Order <select value=${asked.order === "path" ? "" : asked.order} onChange=${set("order")}><option value="">path</option><option value="bytes">largest first</option><option value="units">most units first</option></select></label>`
      : asked.reason && html`<button onClick=${() => change({ reason: null, page: null }, { step: true })}>${asked.reason} ✕<span class="hidden"> (show every reason)</span></button>`}
  </div>`;
}

/** @param {{root: string, answer: FilesAnswer, out: boolean}} props */
function Table({ root, answer, out }) {
  if (!answer.files.length) return html`<p class="empty">No file fits.</p>`;
  return html`<table>
    <thead><tr><th>Path</th>${out ? html`<th>Why it is left out</th>` : html`<th class="side">Language</th><th class="number side">Lines</th><th class="number side">Units</th>`}<th class="number">Size</th></tr></thead>
    <tbody>${answer.files.map((one) => html`<tr key=${one.path}>
      <td class="path">${out ? one.path : html`<a href=${linkTo("/", { root, open: `${root}:${one.path}`, panel: "source" })}>${one.path}</a>`}</td>
      ${out
        ? html`<td class="dim">${one.reason}</td>`
        : html`<td class="dim side">${one.language}</td><td class="number side">${one.lines.toLocaleString("en")}</td><td class="number side">${one.units.toLocaleString("en")}</td>`}
      <td class="number">${out && one.path.endsWith("/") ? "" : bytes(one.bytes)}</td>
    </tr>`)}</tbody>
  </table>`;
}

/** @param {{answer: FilesAnswer}} props */
function Pages({ answer: { page, pages } }) {
  if (pages === 1) return null;
  const turn = (/** @type {number} */ to) => change({ page: to === 1 ? null : to }, { step: true });
  return html`<nav class="pages" aria-label="Pages of files">
    <button onClick=${() => turn(page - 1)} disabled=${page === 1}>← Before</button>
    <span>Page ${page} of ${pages.toLocaleString("en")}</span>
    <button onClick=${() => turn(page + 1)} disabled=${page === pages}>Next →</button>
  </nav>`;
}
