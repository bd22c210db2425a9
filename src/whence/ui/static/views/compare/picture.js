// Every query as a line from its NDCG under A to the one under B, the worst change first.
import { html } from "../../lib/dom.js";
import { differenceOf } from "./running.js";

/** @typedef {import("./running.js").Compared} Compared */

const HEIGHT = 150;
const MARGIN = { left: 34, right: 10, top: 10, bottom: 10 };
const WIDEST = 28;
const NARROWEST = 5;
const USUAL_WIDTH = 900;

/** @param {{rows: Compared[], open: (at: number) => void}} props */
export function Picture({ rows, open }) {
  const sorted = rows
    .map((row, at) => ({ row, at, by: differenceOf(row) }))
    .filter((one) => one.by !== null)
    .sort((one, other) => (one.by ?? 0) - (other.by ?? 0));
  if (!sorted.length) return null;
  const step = Math.max(NARROWEST, Math.min(WIDEST, USUAL_WIDTH / sorted.length));
  const width = MARGIN.left + MARGIN.right + step * sorted.length;
  const y = (/** @type {number} */ share) => MARGIN.top + (1 - share) * HEIGHT;
  const whole = HEIGHT + MARGIN.top + MARGIN.bottom;
  return html`<figure class="paired">
    <div class="scroller" tabindex="0" role="group" aria-label="Picture of all queries">
      <svg width=${width} height=${whole} viewBox=${`0 0 ${width} ${whole}`} role="img" aria-label="NDCG of each query under A and under B, sorted by the difference">
        ${[0, 0.5, 1].map((share) => html`<g class="rule"><line x1=${MARGIN.left - 4} x2=${width} y1=${y(share)} y2=${y(share)} /><text x=${MARGIN.left - 8} y=${y(share) + 4} text-anchor="end">${share}</text></g>`)}
        ${sorted.map((one, place) => html`<${Pair} key=${one.at} row=${one.row} by=${one.by ?? 0} x=${MARGIN.left + step * (place + 0.5)} y=${y} radius=${Math.min(step / 3, 5)} open=${() => open(one.at)} />`)}
      </svg>
    </div>
    <figcaption class="dim"><span class="key a"></span> A <span class="key b"></span> B; each line is a query, sorted by the difference</figcaption>
  </figure>`;
}

/** @param {{row: Compared, by: number, x: number, y: (share: number) => number, radius: number, open: () => void}} props */
function Pair({ row, by, x, y, radius, open }) {
  const [a, b] = [row.a?.ndcg ?? 0, row.b?.ndcg ?? 0];
  return html`<g class=${`pair ${by > 0 ? "better" : by < 0 ? "worse" : "equal"}`} onClick=${open}>
    <title>${row.query}: ${a.toFixed(3)} → ${b.toFixed(3)}</title>
    <line x1=${x} x2=${x} y1=${y(a)} y2=${y(b)} />
    <circle class="a" cx=${x} cy=${y(a)} r=${radius} />
    <circle class="b" cx=${x} cy=${y(b)} r=${radius} />
  </g>`;
}
