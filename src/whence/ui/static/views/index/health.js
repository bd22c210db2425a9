// Whether all is well: the quick checks at once, the others and the questions when they are asked for.
import { get } from "../../lib/api.js";
import { useAnswer } from "../../lib/asking.js";
import { html, useState } from "../../lib/dom.js";
import { counted, Wrong } from "../../lib/parts.js";

/** @typedef {{kind: string, questions: number, first: number, ten: number, floor_first: number, floor_ten: number}} Recall */
/** @typedef {{name: string, level: string, said: string, hint: string, details: string[], recall: Recall | null}} Found */

/** From worst to best: what is to be looked at comes first. */
const LEVELS = ["failed", "warning", "ok", "skipped"];
/** @type {Record<string, string>} */
const MARKS = { failed: "✕", warning: "!", ok: "✓", skipped: "–" };

/** An index that is being built is not looked at: what is missing is on its way. @param {{root: string, building: boolean, settled: number}} props */
export function Health({ root, building, settled }) {
  const [deep, setDeep] = useState(/** @type {{verify?: boolean, measure?: boolean}} */ ({}));
  const { answer, error, busy } = useAnswer(building ? null : { root, ...deep }, (asked, signal) => get("index/health", asked, signal), settled);
  /** @type {Found[]} */
  const findings = [...(answer?.findings ?? [])].sort((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
  const wrong = findings.filter((one) => one.level === "failed" || one.level === "warning").length;
  return html`<section class="card health" aria-labelledby="health" aria-busy=${busy}>
    <h2 id="health">Health ${answer && html`<span class=${wrong ? "warning" : "good"}>${wrong ? `${wrong} to look at` : "all is well"}</span>`}</h2>
    <${Wrong} error=${error} />
    <${Measured} findings=${findings.filter((one) => one.recall)} />
    <ul class="findings">${findings.filter((one) => !one.recall).map((one) => html`<${Line} ...${one} />`)}</ul>
    <div class="row">
      <button disabled=${busy || building} onClick=${() => setDeep({ verify: true })} title="load every package, grammar and model as well">Check everything</button>
      <button disabled=${busy || building} onClick=${() => setDeep({ verify: true, measure: true })} title="ask questions made of this repository's commits and doc comments">Measure recall</button>
      <span class="dim" role="status">${building ? "Looked at when it is built." : busy ? (deep.verify ? "Looking; this takes some seconds …" : "Looking …") : answer && `${counted(findings.length, "check")} in ${(answer.milliseconds / 1000).toFixed(1)} s`}</span>
    </div>
  </section>`;
}

/** @param {Found} props */
function Line({ name, level, said, hint, details }) {
  return html`<li class=${level}>
    <span class="mark" aria-hidden="true">${MARKS[level] ?? "?"}</span>
    <div><strong>${name}</strong> <span class="hidden">${level}:</span> <span class=${level === "ok" || level === "skipped" ? "dim" : ""}>${said}</span>
      ${hint && html`<p class="hint">→ ${hint}</p>`}
      ${details.length > 0 && html`<details><summary>${counted(details.length, "line")} more</summary><ul class="path">${details.map((one) => html`<li>${one}</li>`)}</ul></details>`}
    </div>
  </li>`;
}

/** How often a file that was meant is found, beside what counting words would find. @param {{findings: Found[]}} props */
function Measured({ findings }) {
  if (!findings.length) return null;
  const percent = (/** @type {number} */ share) => `${(share * 100).toFixed(0)} %`;
  return html`<table class="recall">
    <caption>Questions made of this repository's own words: how often the file that is meant comes first, or among the first ten</caption>
    <thead><tr><th>Made of</th><th class="number">Asked</th><th class="number">First</th><th class="number">In ten</th><th class="number dim">by counting words</th></tr></thead>
    <tbody>${findings.map(({ recall }) => recall && html`<tr><td>${recall.kind}</td><td class="number">${recall.questions}</td>
      <td class="number">${percent(recall.first)}</td><td class="number">${percent(recall.ten)}</td><td class="number dim">${percent(recall.floor_first)}, ${percent(recall.floor_ten)}</td></tr>`)}</tbody>
  </table>`;
}
