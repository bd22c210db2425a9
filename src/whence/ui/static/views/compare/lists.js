// Two answers to one query, with a line from each file's place on the left to the one on the right.
import { linkTo } from "../../lib/address.js";
import { html } from "../../lib/dom.js";
import { Move } from "../search/moved.js";
import { writtenFactors } from "../search/weights.js";

/** @typedef {import("./running.js").Compared} Compared */
/** @typedef {import("./running.js").Placed} Placed */
/** @typedef {import("./running.js").Side} Side */

/** Pixels of a line of the lists; compare.css has the same number. */
const ROW = 30;
const BETWEEN = 44;

/** @param {{row: Compared, a: Side, b: Side, root: string}} props */
export function Lists({ row, a, b, root }) {
  const [left, right] = [row.a?.files ?? [], row.b?.files ?? []];
  const was = new Map(left.map((one, place) => [one.path, place]));
  const gained = (/** @type {Placed} */ one, /** @type {number} */ place) => (was.has(one.path) ? (was.get(one.path) ?? 0) - place : null);
  const link = (/** @type {Side} */ side, /** @type {string} */ path) => linkTo("/", { q: row.query, root, profile: side.profile, w: writtenFactors(side.factors), open: `${root}:${path}` });
  return html`<div class="lists">
    <ol aria-label="A">${left.map((one) => html`<${File} file=${one} link=${link(a, one.path)} />`)}</ol>
    <${Lines} left=${left} right=${right} />
    <ol aria-label="B">${right.map((one, place) => html`<${File} file=${one} link=${link(b, one.path)} moved=${gained(one, place)} />`)}</ol>
  </div>`;
}

/** @param {{file: Placed, link: string, moved?: number | null}} props */
function File({ file, link, moved }) {
  const cut = file.path.lastIndexOf("/") + 1;
  return html`<li title=${file.path}>
    ${file.answers && html`<span class="good" title="a known answer"><span aria-hidden="true">✓</span><span class="hidden">answer</span></span>`}
    <${Move} by=${moved} />
    <a href=${link} aria-label=${file.path}><strong>${file.path.slice(cut)}</strong> <span class="dim">${file.path.slice(0, cut)}</span></a>
    <span class="score">${file.score.toFixed(2)}</span>
  </li>`;
}

/** @param {{left: Placed[], right: Placed[]}} props */
function Lines({ left, right }) {
  const height = ROW * Math.max(left.length, right.length, 1);
  const at = (/** @type {number} */ place) => ROW * (place + 0.5);
  return html`<svg class="lines" width=${BETWEEN} height=${height} viewBox=${`0 0 ${BETWEEN} ${height}`} aria-hidden="true">
    ${left.map((one, from) => {
      const to = right.findIndex((other) => other.path === one.path);
      if (to < 0) return html`<line class="gone" x1="0" x2=${BETWEEN / 4} y1=${at(from)} y2=${at(from)} />`;
      const kind = `${to < from ? "up" : to > from ? "down" : "same"}${one.answers ? " answer" : ""}`;
      return html`<path class=${kind} d=${`M0 ${at(from)} C${BETWEEN / 2} ${at(from)} ${BETWEEN / 2} ${at(to)} ${BETWEEN} ${at(to)}`} />`;
    })}
  </svg>`;
}
