// What a file lacks against one that stands before it.
import { html } from "../../lib/dom.js";

/** @typedef {import("./why.js").Receipt} Receipt */
/** @typedef {import("./why.js").Gap} Gap */

/** Differences that are shown of each kind. */
const SHOWN = 4;
/** A smaller difference of two scores is not worth a line. */
const LEAST = 0.005;

/** @param {{receipt: Receipt, shown: number}} props */
export function Lacking({ receipt, shown }) {
  const { rival } = receipt;
  if (!rival) return null;
  const lacks = rival.gaps.filter((one) => one.theirs - one.mine > LEAST).slice(0, SHOWN);
  const leads = rival.gaps.filter((one) => one.mine - one.theirs > LEAST).slice(0, SHOWN);
  const beyond = receipt.rank > shown;
  return html`<details class="lacking" open=${beyond}>
    <summary>${beyond ? `What it lacks against place ${rival.place}` : "What it lacks against the first"}: ${(rival.score - receipt.score).toFixed(3)}</summary>
    <p class="dim">${rival.path} has ${rival.score.toFixed(4)}</p>
    <table>
      <thead><tr><th>signal</th><th class="number">here</th><th class="number">there</th><th class="number">lacks</th></tr></thead>
      <tbody>${[...lacks, ...leads].map((one) => html`<${Difference} key=${one.signal} gap=${one} />`)}</tbody>
    </table>
  </details>`;
}

/** @param {{gap: Gap}} props */
function Difference({ gap }) {
  const lacks = gap.theirs - gap.mine;
  return html`<tr title=${`here: ${gap.because_mine}\nthere: ${gap.because_theirs}`}>
    <td>${gap.signal}</td>
    <td class="number">${gap.mine.toFixed(3)}</td>
    <td class="number">${gap.theirs.toFixed(3)}</td>
    <td class=${`number ${lacks > 0 ? "wrong" : "good"}`}>${lacks > 0 ? "" : "−"}${Math.abs(lacks).toFixed(3)}</td>
  </tr>`;
}
