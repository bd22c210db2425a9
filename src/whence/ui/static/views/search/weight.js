// The switch and the slider of one weight.
import { html } from "../../lib/dom.js";
import { MOST_TIMES } from "./weights.js";

/** @typedef {{signal: string, factor: number, move: (signal: string, factor: number) => void}} WeightProps */

/** @param {WeightProps} props */
export function Switch({ signal, factor, move }) {
  return html`<input
    type="checkbox"
    role="switch"
    class="switch"
    checked=${factor > 0}
    aria-label=${`${signal} counts`}
    title=${factor > 0 ? "switch it off" : "switch it on"}
    onChange=${(/** @type {Event & {currentTarget: HTMLInputElement}} */ event) => move(signal, event.currentTarget.checked ? 1 : 0)}
  />`;
}

/** Arrows move it by a tenth; a double click puts it back. @param {WeightProps} props */
export function Slider({ signal, factor, move }) {
  const onInput = (/** @type {Event & {currentTarget: HTMLInputElement}} */ event) => move(signal, Number(event.currentTarget.value));
  return html`<span class=${factor === 1 ? "slider" : "slider moved"}>
    <input
      type="range"
      min="0"
      max=${MOST_TIMES}
      step="0.1"
      value=${factor}
      aria-label=${`Weight of ${signal}`}
      aria-valuetext=${`${factor} times`}
      title="times its weight; double click puts it back"
      onInput=${onInput}
      onDblClick=${() => move(signal, 1)}
      onKeyDown=${keepArrows}
    /><span class="times">× ${factor.toFixed(1)}</span>
  </span>`;
}

/** Arrows are the slider's own while it has the focus; other keys go on to the page. @param {KeyboardEvent} event */
function keepArrows(event) {
  if (event.key.startsWith("Arrow")) event.stopPropagation();
}
