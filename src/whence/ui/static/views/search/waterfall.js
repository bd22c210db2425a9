// A score as a waterfall: each contribution begins where the one before ended, and the last ends at the score.
import { change, given } from "../../lib/address.js";
import { html, useRef } from "../../lib/dom.js";
import { counted } from "../../lib/parts.js";
import { Slider, Switch } from "./weight.js";
import { moveWeight } from "./weights.js";

/** @typedef {import("./why.js").ReceiptLine} ReceiptLine */
/** @typedef {import("./why.js").Receipt} Receipt */
/** @typedef {import("./why.js").Signal} Signal */
/** @typedef {{signal: string, doc: string, line: ReceiptLine | null, before: number, after: number, weights: string}} Row */

/** @param {{receipt: Receipt, factors: Record<string, number>, signals: Signal[]}} props */
export function Waterfall({ receipt, factors, signals }) {
  const all = given().weights === "all";
  const rows = rowsOf(receipt, factors, signals);
  const telling = useTelling(rows, factors);
  const silent = rows.filter((one) => !telling.includes(one));
  const scale = scaleOf(receipt.lines);
  const row = (/** @type {Row} */ one) => html`<${Contribution} key=${one.signal} row=${one} scale=${scale} rank=${receipt.rank} factor=${factors[one.signal] ?? 1} explained=${all} />`;
  return html`<section aria-label="What the score is made of">
    <div class="waterfall-head">
      <h3>What the score is made of</h3>
      <label><input type="checkbox" role="switch" class="switch" checked=${all} onChange=${() => change({ weights: all ? null : "all" })} /> all weights</label>
    </div>
    <ol class="waterfall">${(all ? rows : telling).map(row)}</ol>
    <p class="total"><span>score</span><strong>${receipt.score.toFixed(4)}</strong></p>
    ${!all &&
    silent.length > 0 &&
    html`<details class="silent"><summary>${counted(silent.length, "signal says", "signals say")} nothing</summary><ol class="waterfall">${silent.map(row)}</ol></details>`}
  </section>`;
}

/**
 * The rows that are not folded away. A row stays where it was first shown while its weight is moved: whoever holds a slider would lose it.
 * @param {Row[]} rows @param {Record<string, number>} factors
 */
function useTelling(rows, factors) {
  const first = useRef(/** @type {Map<string, boolean>} */ (new Map())).current;
  for (const { signal, line } of rows) if (!first.has(signal)) first.set(signal, (line?.tells ?? false) || signal in factors);
  return rows.filter(({ signal, line }) => first.get(signal) || (line?.tells && !(signal in factors)));
}

/**
 * All signals in the order in which they enter the score, also those that are off or weigh nothing here.
 * @param {Receipt} receipt @param {Record<string, number>} factors @param {Signal[]} signals @returns {Row[]}
 */
function rowsOf(receipt, factors, signals) {
  const known = new Map(signals.map((one) => [one.name, one]));
  const lines = new Map(receipt.lines.map((one) => [one.signal, one]));
  const names = [...new Set([...known.keys(), ...lines.keys(), ...Object.keys(factors)])];
  let before = 0;
  return names.map((signal) => {
    const line = lines.get(signal) ?? null;
    const row = { signal, doc: known.get(signal)?.doc ?? "", line, before, after: line?.total ?? before, weights: weightsOf(known.get(signal)) };
    before = row.after;
    return row;
  });
}

/** @param {Signal | undefined} one */
function weightsOf(one) {
  if (!one) return "";
  return one.short === one.long ? `${one.short}` : `${one.short} for short questions, ${one.long} for long ones`;
}

/** Where a score stands on a track, as a share of it. @param {ReceiptLine[]} lines @returns {(score: number) => number} */
function scaleOf(lines) {
  const totals = [0, ...lines.map((one) => one.total)];
  const [least, most] = [Math.min(...totals), Math.max(...totals)];
  return (score) => (score - least) / (most - least || 1);
}

/** @param {{row: Row, scale: (score: number) => number, rank: number, factor: number, explained: boolean}} props */
function Contribution({ row, scale, rank, factor, explained }) {
  const { line } = row;
  return html`<li class=${line ? "contribution" : "contribution off"}>
    <div class="name"><${Switch} signal=${row.signal} factor=${factor} move=${moveWeight} /><span class="signal" title=${row.doc}>${row.signal}</span>
      ${line && html`<span class="sum">${sum(line)}</span><${Change} row=${row} />`}
    </div>
    ${line && line.tells && html`<${Bar} row=${row} scale=${scale} />`}
    <div class="because">
      <p>${line ? line.because : factor === 0 ? "switched off" : "weighs nothing for this query"}${line && line.tells && html`<${Without} line=${line} rank=${rank} />`}</p>
      <${Slider} signal=${row.signal} factor=${factor} move=${moveWeight} />
    </div>
    ${explained && html`<p class="doc">${row.doc}${row.weights && ` Weight ${row.weights}.`}</p>`}
  </li>`;
}

/** @param {ReceiptLine} line */
function sum(line) {
  return line.operation === "x" ? `× ${line.value.toFixed(3)} ^ ${line.weight.toFixed(2)}` : `${line.value.toFixed(3)} × ${line.weight.toFixed(2)}`;
}

/** @param {{row: Row}} props */
function Change({ row }) {
  const by = row.after - row.before;
  return html`<span class=${`change ${signOf(by)}`}>${by < 0 ? "−" : "+"}${Math.abs(by).toFixed(4)}</span>`;
}

/** @param {{row: Row, scale: (score: number) => number}} props */
function Bar({ row, scale }) {
  const [from, to] = [scale(row.before), scale(row.after)];
  const width = Math.max(Math.abs(to - from) * 100, 0.4);
  return html`<div class="track" aria-hidden="true">
    <i class="zero" style=${`left:${scale(0) * 100}%`}></i>
    <i class=${`bar ${signOf(row.after - row.before)}`} style=${`left:${Math.min(from, to) * 100}%;width:${width}%`}></i>
  </div>`;
}

/** @param {{line: ReceiptLine, rank: number}} props */
function Without({ line, rank }) {
  const same = line.rank_without === rank;
  return html` <span class=${same ? "without dim" : "without"}>without it: ${same ? "the same place" : `place ${line.rank_without}`}</span>`;
}

/** @param {number} by */
function signOf(by) {
  return by < 0 ? "minus" : "plus";
}
