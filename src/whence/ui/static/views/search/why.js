// Why a file stands where it stands, or what keeps it out.
import { change } from "../../lib/address.js";
import { get, post } from "../../lib/api.js";
import { useAnswer } from "../../lib/asking.js";
import { html } from "../../lib/dom.js";
import { counted, Wrong } from "../../lib/parts.js";
import { Lacking } from "./lacking.js";
import { Waterfall } from "./waterfall.js";

/** @typedef {{signal: string, phase: string, operation: string, value: number, weight: number, contribution: number, because: string, total: number, rank_without: number, tells: boolean}} ReceiptLine */
/** @typedef {{signal: string, mine: number, theirs: number, because_mine: string, because_theirs: string}} Gap */
/** @typedef {{path: string, place: number, score: number, gaps: Gap[]}} Rival */
/** @typedef {{path: string, name: string, kind: string, line: number, score: number, rank: number, candidates: number, leader: string, leader_score: number, found_by: {retriever: string, score: number, rank: number}[], lines: ReceiptLine[], rival: Rival | null}} Receipt */
/** @typedef {{query: string, root: string, target: string, verdict: string, said: string, unmet: string[], hint: string, receipt: Receipt | null}} WhyAnswer */
/** @typedef {{name: string, doc: string, phase: string, operation: string, short: number, long: number}} Signal */
/** @typedef {{query: string, k: number, root: string, factors: Record<string, number>, profile: string | null}} Asked */

/** @param {{asked: Asked, root: string, path: string}} props */
export function WhyPanel({ asked, root, path }) {
  const { query, k, factors, profile } = asked;
  const { answer, error, busy } = useAnswer({ query, k, factors, profile, root, target: path }, (one, signal) => post("why", one, signal));
  const { answer: weights } = useAnswer({ root, profile }, (one, signal) => get("signals", one, signal));
  if (error) return html`<${Wrong} error=${error} />`;
  if (!answer) return html`<p class="dim">Weighing …</p>`;
  return html`<div class="receipt" aria-busy=${busy}>
    ${answer.receipt
      ? html`<${Head} receipt=${answer.receipt} root=${answer.root} />
          <${Lacking} receipt=${answer.receipt} shown=${k} />
          <${Waterfall} receipt=${answer.receipt} factors=${factors} signals=${weights?.signals ?? []} />`
      : html`<${Missing} answer=${answer} />`}
  </div>`;
}

/** @param {{receipt: Receipt, root: string}} props */
function Head({ receipt, root }) {
  const { rank, candidates, score, found_by: found } = receipt;
  const toSource = () => change({ open: `${root}:${receipt.path}`, panel: "source" }, { step: true });
  return html`<header class="receipt-head">
    <h2>${receipt.path}:${receipt.line}${receipt.name && html` <span class="dim">${receipt.kind}</span> ${receipt.name}`}</h2>
    <p><strong>Place ${rank}</strong> of ${counted(candidates, "file")} · score <strong>${score.toFixed(4)}</strong>
      <button class="plain" onClick=${toSource}>open</button></p>
    <p class="dim">${found.length ? "Found by " : "Found by no retriever: ranked only because you asked."}${found.map(
      (one, at) => html`${at > 0 && ", "}${one.retriever} at place ${one.rank}`,
    )}</p>
  </header>`;
}

const MISSING = /** @type {Record<string, string>} */ ({
  kept_out: "It is indexed, but the query keeps it out",
  left_out: "It is not indexed",
  unknown: "There is no such file or symbol",
});

/** @param {{answer: WhyAnswer}} props */
function Missing({ answer }) {
  return html`<div class="missing">
    <h2>${answer.target}</h2>
    <p><strong>${MISSING[answer.verdict]}.</strong></p>
    <p>${answer.said}${answer.hint && html`; <span class="dim">${answer.hint}</span>`}</p>
    ${answer.unmet.length > 0 && html`<p class="unmet">${answer.unmet.map((one) => html`<code>${one}</code> `)}</p>`}
  </div>`;
}
