// The whole file of a result.
import { get } from "../../lib/api.js";
import { useAnswer } from "../../lib/asking.js";
import { html, useLayoutEffect, useRef } from "../../lib/dom.js";
import { Code, counted, Wrong } from "../../lib/parts.js";

/** @param {{root: string, path: string, lit?: [number, number]}} props */
export function SourcePanel({ root, path, lit }) {
  const { answer, error } = useAnswer({ root, path }, (asked, signal) => get("source", asked, signal));
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (answer && lit) place.current?.querySelector(`[data-line="${lit[0]}"]`)?.scrollIntoView({ block: "center" });
  }, [answer, lit?.[0]]);
  if (error) return html`<${Wrong} error=${error} />`;
  if (!answer) return html`<p class="dim">Reading …</p>`;
  return html`<div class="source" ref=${place}>
    <h2>${answer.path}</h2>
    <p class="dim">${answer.language} · ${counted(answer.total_lines, "line")}${answer.lines.length < answer.total_lines ? `, the first ${answer.lines.length} are shown` : ""}</p>
    <${Code} lines=${answer.lines} lit=${lit} />
  </div>`;
}
