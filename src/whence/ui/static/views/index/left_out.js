// What was left out, by reason; each opens to the files themselves.
import { linkTo } from "../../lib/address.js";
import { get } from "../../lib/api.js";
import { useAnswer } from "../../lib/asking.js";
import { html, useState } from "../../lib/dom.js";
import { bytes, counted, Wrong } from "../../lib/parts.js";
import { showFiles } from "./files.js";

/** @param {{root: string, reasons: {reason: string, count: number}[], settled: number}} props */
export function LeftOut({ root, reasons, settled }) {
  const total = reasons.reduce((sum, one) => sum + one.count, 0);
  const most = Math.max(...reasons.map((one) => one.count), 1);
  return html`<section class="card left-out" aria-labelledby="left-out">
    <h2 id="left-out">Left out <span class="dim">${counted(total, "file or folder", "files and folders")}</span></h2>
    ${reasons.map((one) => html`<${Reason} key=${one.reason} root=${root} ...${one} most=${most} settled=${settled} />`)}
    ${!reasons.length && html`<p class="dim">Nothing: every file that is there is indexed.</p>`}
  </section>`;
}

/** @param {{root: string, reason: string, count: number, most: number, settled: number}} props */
function Reason({ root, reason, count, most, settled }) {
  const [open, setOpen] = useState(false);
  const asked = open ? { root, state: "left_out", reason } : null;
  const { answer, error } = useAnswer(asked, (one, signal) => get("index/files", one, signal), settled);
  return html`<details onToggle=${(/** @type {Event & {currentTarget: HTMLDetailsElement}} */ event) => setOpen(event.currentTarget.open)}>
    <summary><span class="what">${reason}</span><span class="plot" aria-hidden="true"><i class="bar" style=${`width:${(count / most) * 100}%`}></i></span><span class="number">${count.toLocaleString("en")}</span></summary>
    <${Wrong} error=${error} />
    ${answer &&
    html`<ul>${answer.files.map((/** @type {import("./files.js").FileRow} */ one) => html`<li><span class="path">${one.path}</span>${one.bytes > 0 && html` <span class="dim">${bytes(one.bytes)}</span>`}</li>`)}</ul>
    ${answer.pages > 1 && html`<p><a href=${linkTo("/index", { root, state: "left_out", reason })} onClick=${showFiles}>All ${answer.total.toLocaleString("en")} in the list below</a></p>`}`}
  </details>`;
}
