// Weights that were moved: what that does to the places, how to put them back, and how to keep them.
import { change, linkTo } from "../../lib/address.js";
import { post } from "../../lib/api.js";
import { useAnswer } from "../../lib/asking.js";
import { html, useState } from "../../lib/dom.js";
import { counted, Dialog, Wrong } from "../../lib/parts.js";
import { writtenFactors } from "./weights.js";

/** @typedef {import("./why.js").Asked} Asked */
/** @typedef {{root: string, path: string}} Placed */

/** @param {Placed} hit */
function keyOf(hit) {
  return `${hit.root}:${hit.path}`;
}

/**
 * How many places each result has gained against the weights as they are; null for one that was not shown at all.
 * @param {Asked} asked @param {Placed[]} hits @returns {Map<string, number | null>}
 */
export function useMoves(asked, hits) {
  const moved = Object.keys(asked.factors).length > 0;
  const { answer, of } = useAnswer(moved ? { ...asked, factors: {} } : null, (one, signal) => post("search", one, signal));
  if (!moved || !answer || of?.query !== asked.query) return new Map();
  const before = new Map(answer.results.map((/** @type {Placed} */ one, /** @type {number} */ place) => [keyOf(one), place]));
  return new Map(hits.map((one, place) => [keyOf(one), before.has(keyOf(one)) ? before.get(keyOf(one)) - place : null]));
}

/** @param {{by: number | null | undefined}} props */
export function Move({ by }) {
  if (by === undefined || by === 0) return null;
  if (by === null) return html`<span class="move new">new</span>`;
  const said = `${Math.abs(by) === 1 ? "one place" : `${Math.abs(by)} places`} ${by > 0 ? "up" : "down"}`;
  return html`<span class=${`move ${by > 0 ? "up" : "down"}`} title=${said}><span aria-hidden="true">${by > 0 ? "▲" : "▼"}${Math.abs(by)}</span><span class="hidden">${said}</span></span>`;
}

/** @param {{asked: Asked}} props */
export function MovedWeights({ asked }) {
  const [copying, setCopying] = useState(false);
  const count = Object.keys(asked.factors).length;
  if (!count) return null;
  const compare = linkTo("/compare", { root: asked.root, q: asked.query, pa: asked.profile, pb: asked.profile, wb: writtenFactors(asked.factors) });
  return html`<div class="note moved-weights">${counted(count, "weight is", "weights are")} moved.
    <button class="plain" onClick=${() => change({ w: null })}>Put back</button>
    <button class="plain" onClick=${() => setCopying(true)}>Copy as settings</button>
    <a href=${compare}>Compare over many queries</a>
    ${copying && html`<${Settings} asked=${asked} close=${() => setCopying(false)} />`}
  </div>`;
}

/** @param {{asked: Asked, close: () => void}} props */
function Settings({ asked, close }) {
  const { root, profile, factors } = asked;
  const { answer, error } = useAnswer({ root, profile, factors }, (one, signal) => post("weights", one, signal));
  const [copied, setCopied] = useState("");
  const copy = () => navigator.clipboard.writeText(answer.lines).then(() => setCopied("Copied."), () => setCopied("The browser did not allow it: mark the lines and copy them."));
  return html`<${Dialog} title="These weights as settings" close=${close}>
    <${Wrong} error=${error} />
    ${answer &&
    html`<p>In <code>${answer.file}</code> of the repository these lines make them the usual weights, for every search.</p>
      <pre class="settings" tabindex="0" aria-label="settings">${answer.lines}</pre>
      <p><button class="main" onClick=${copy}>Copy</button> <span role="status">${copied}</span></p>`}
  <//>`;
}
