// Why a symbol stands where it stands: what its score is made of, and its rank without each part.
import { post } from "../../lib/api.js";
import { useAnswer } from "../../lib/asking.js";
import { html, useState } from "../../lib/dom.js";
import { counted, Wrong } from "../../lib/parts.js";

/** @typedef {{signal: string, operation: string, value: number, weight: number, contribution: number, because: string, rank_without: number}} Reason */
/** @typedef {{rank: number, candidates: number, score: number, leader: string, leader_score: number, found_by: {retriever: string, score: number, rank: number}[], lines: Reason[]}} WhySymbol */

/** @param {{wanted: import("./words.js").Wanted, symbol: {key: string}}} props */
export function Receipt({ wanted, symbol }) {
  const { answer, error } = useAnswer({ ...wanted, symbol: symbol.key }, (one, signal) => post("context/why", one, signal));
  if (error) return html`<${Wrong} error=${error} />`;
  if (!answer) return html`<p class="dim">Reading …</p>`;
  return html`<${Found} why=${answer} /><${Reasons} why=${answer} />`;
}

/** @param {{why: WhySymbol}} props */
function Found({ why }) {
  const by = why.found_by.map((one) => `${one.retriever} (rank ${one.rank})`).join(", ");
  return html`<p class="dim">Rank ${why.rank} of ${counted(why.candidates, "candidate")}${why.rank > 1 && `, first is ${why.leader} with ${why.leader_score.toFixed(2)}`}. ${by ? `Found by ${by}.` : "Found by no retriever."}</p>`;
}

/** @param {Reason} line */
function isSilent(line) {
  return Math.abs(line.contribution - (line.operation === "x" ? 1 : 0)) < 1e-6;
}

/** @param {{why: WhySymbol}} props */
function Reasons({ why }) {
  const [all, setAll] = useState(false);
  const silent = why.lines.filter(isSilent).length;
  const lines = (all ? why.lines : why.lines.filter((one) => !isSilent(one))).toSorted((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
  const most = Math.max(...why.lines.filter((one) => one.operation === "+").map((one) => Math.abs(one.contribution)), 1e-9);
  return html`<div class="reasons" tabindex="0" role="region" aria-label="What the score is made of"><table>
      <thead><tr><th>Signal</th><th class="number">Part</th><td class="drawn"></td><th class="number">Rank without</th><th>Because</th></tr></thead>
      <tbody>${lines.map(
        (line) => html`<tr key=${line.signal}>
          <th scope="row">${line.signal}</th>
          <td class="number" title=${`${line.value.toPrecision(4)} ${line.operation === "x" ? "to the power of" : "times"} ${line.weight}`}>${line.operation === "x" ? "× " : line.contribution < 0 ? "− " : "+ "}${Math.abs(line.contribution).toFixed(3)}</td>
          <td class="drawn" aria-hidden="true">${line.operation === "+" && html`<i class=${line.contribution < 0 ? "less" : "plus"} style=${`width:${(Math.abs(line.contribution) / most) * 100}%`}></i>`}</td>
          <td class="number">${line.rank_without}${line.rank_without !== why.rank && html` <span class="dim">(${line.rank_without > why.rank ? "↓" : "↑"})</span>`}</td>
          <td>${line.because}</td>
        </tr>`,
      )}</tbody>
      <tfoot><tr><th scope="row">score</th><td class="number">${why.score.toFixed(3)}</td><td class="drawn"></td><td class="number">${why.rank}</td><td></td></tr></tfoot>
    </table></div>
    ${silent > 0 && html`<button class="plain" onClick=${() => setAll(!all)}>${all ? "Only what counts" : `${counted(silent, "signal")} without a part, too`}</button>`}`;
}
