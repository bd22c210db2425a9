// A row for each query: its NDCG under both, the difference, and the first place that differs.
import { change } from "../../lib/address.js";
import { Fragment, html } from "../../lib/dom.js";
import { Lists } from "./lists.js";
import { differenceOf } from "./running.js";

/** @typedef {import("./running.js").Compared} Compared */
/** @typedef {import("./running.js").Task} Task */

/** @param {{rows: Compared[], task: Task, opened: number | null}} props */
export function Table({ rows, task, opened }) {
  const judged = rows.some((one) => differenceOf(one) !== null);
  return html`<div class="scroller" tabindex="0" role="group" aria-label="All queries"><table class="compared">
    <thead><tr><th>query</th>
      ${judged && html`<th class="number">A</th><th class="number">B</th><th class="number">B − A</th>`}
      <th class="number">differs from place</th></tr></thead>
    <tbody>${rows.map((row, at) => html`<${Row} key=${at} row=${row} at=${at} task=${task} judged=${judged} open=${opened === at} />`)}</tbody>
  </table></div>`;
}

/** @param {{row: Compared, at: number, task: Task, judged: boolean, open: boolean}} props */
function Row({ row, at, task, judged, open }) {
  const by = differenceOf(row);
  const columns = judged ? 5 : 2;
  const toggle = () => change({ row: open ? null : at + 1 }, { step: true });
  return html`<${Fragment}>
    <tr class=${open ? "opened" : ""}>
      <td><button class="plain query" aria-expanded=${open} disabled=${!row.a} onClick=${toggle}><span aria-hidden="true">${open ? "▾" : "▸"}</span> ${row.query}</button>
        ${row.trouble && html`<p class="wrong">${row.trouble}</p>`}
        ${row.unknown.length > 0 && html`<p class="warning">No such file: ${row.unknown.join(", ")}</p>`}</td>
      ${judged &&
      html`<td class="number">${row.a?.ndcg?.toFixed(3) ?? ""}</td><td class="number">${row.b?.ndcg?.toFixed(3) ?? ""}</td>
        <td class=${`number ${by === null || by === 0 ? "dim" : by > 0 ? "good" : "wrong"}`}>${signed(by)}</td>`}
      <td class="number">${row.a ? (row.first_difference ?? "the same") : ""}</td>
    </tr>
    ${open && html`<tr class="both"><td colspan=${columns}><${Lists} row=${row} a=${task.a} b=${task.b} root=${task.root} /></td></tr>`}
  <//>`;
}

/** @param {number | null} by */
export function signed(by) {
  if (by === null) return "";
  return `${by > 0 ? "+" : by < 0 ? "−" : ""}${Math.abs(by).toFixed(3)}`;
}
