// What was last done to an index: when, why, what changed, and how long it took.
import { html, useState } from "../../lib/dom.js";
import { ago, bytes, counted } from "../../lib/parts.js";

/** @typedef {{at: number, seconds: number, what: string, because: string, added: number, changed: number, removed: number, known: number, bytes: number, files: number, units: number, skipped: number, version: string}} Run */

/** So many runs are shown at first. */
const FEW = 8;

/** @param {{runs: Run[]}} props */
export function Runs({ runs }) {
  const [all, setAll] = useState(false);
  const shown = all ? runs : runs.slice(0, FEW);
  const longest = Math.max(...shown.map((one) => one.seconds), 0.001);
  return html`<section class="card runs" aria-labelledby="runs">
    <h2 id="runs">Last runs</h2>
    ${runs.length > 0
      ? html`<table>
          <thead><tr><th>When</th><th>What</th><th>Files</th><th class="number">Took</th><th class="plot"><span class="hidden">Plot</span></th></tr></thead>
          <tbody>${shown.map((one) => html`<${Row} run=${one} longest=${longest} />`)}</tbody>
        </table>`
      : html`<p class="dim">None is noted yet: a refresh that changes nothing leaves no line.</p>`}
    ${runs.length > FEW && html`<button class="plain" onClick=${() => setAll(!all)} aria-expanded=${all}>${all ? "Fewer" : `${runs.length - FEW} more`}</button>`}
  </section>`;
}

/** @param {{run: Run, longest: number}} props */
function Row({ run, longest }) {
  const when = new Date(run.at * 1000);
  const held = `${counted(run.files, "file")}, ${counted(run.units, "unit")} afterwards, ${run.skipped.toLocaleString("en")} left out; whence ${run.version}`;
  return html`<tr title=${held}>
    <td><time datetime=${when.toISOString()} title=${when.toLocaleString()}>${ago(run.at)}</time></td>
    <td><span class=${run.what === "repaired" ? "warning" : ""}>${run.what}</span>${run.because && html` <span class="dim path">${run.because}</span>`}</td>
    <td>${filesOf(run)}</td>
    <td class="number">${secondsOf(run.seconds)}</td>
    <td class="plot" aria-hidden="true"><span class="bar" style=${`width:${(run.seconds / longest) * 100}%`}></span></td>
  </tr>`;
}

/** What happened to files, in words. @param {Run} run */
function filesOf(run) {
  const said = [
    run.added && `${run.added.toLocaleString("en")} added`,
    run.changed && `${run.changed.toLocaleString("en")} changed`,
    run.removed && `${run.removed.toLocaleString("en")} removed`,
    run.known && `${run.known.toLocaleString("en")} known already`,
  ].filter(Boolean);
  const read = run.bytes ? html` <span class="dim">${bytes(run.bytes)} read</span>` : "";
  return html`${said.join(", ") || html`<span class="dim">none: the commit or what is worked out of it</span>`}${read}`;
}

/** @param {number} seconds */
function secondsOf(seconds) {
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : seconds < 60 ? `${seconds.toFixed(1)} s` : `${(seconds / 60).toFixed(1)} min`;
}
