// One of two ways to rank: a profile, and the weights of it that were moved.
import { change } from "../../lib/address.js";
import { get } from "../../lib/api.js";
import { useAnswer } from "../../lib/asking.js";
import { html, useState } from "../../lib/dom.js";
import { Slider, Switch } from "../search/weight.js";
import { writtenFactors } from "../search/weights.js";

/** @typedef {import("./running.js").Side} Side */
/** @typedef {import("../search/why.js").Signal} Signal */
/** @typedef {Event & {currentTarget: HTMLSelectElement}} Chosen */

/** @param {{name: "a" | "b", side: Side, root: string}} props */
export function SideEditor({ name, side, root }) {
  const { answer } = useAnswer({ profile: side.profile, root }, (one, signal) => get("signals", one, signal));
  const [listed, setListed] = useState(() => Object.keys(side.factors)); // one that is moved through 1 stays, or its slider would be lost
  const shown = [...new Set([...listed, ...Object.keys(side.factors)])];
  const move = (/** @type {string} */ signal, /** @type {number} */ factor) => change({ [`w${name}`]: writtenFactors({ ...side.factors, [signal]: factor }) });
  const begin = (/** @type {Chosen} */ event) => {
    setListed([...shown, event.currentTarget.value]);
    move(event.currentTarget.value, 0);
  };
  const putBack = (/** @type {string} */ signal) => {
    setListed(shown.filter((one) => one !== signal));
    move(signal, 1);
  };
  const choose = (/** @type {Chosen} */ event) => {
    setListed([]); // another profile has other signals
    change({ [`p${name}`]: event.currentTarget.value, [`w${name}`]: null });
  };
  /** @type {Signal[]} */
  const signals = answer?.signals ?? [];
  return html`<section class="side card" aria-label=${`Weighting ${name.toUpperCase()}`}>
    <h2><span class=${`badge ${name}`}>${name.toUpperCase()}</span>
      <label><span class="hidden">Profile of ${name.toUpperCase()}</span>
        <select value=${side.profile ?? ""} onChange=${choose}>
          <option value="">as set${answer && !side.profile ? ` (${answer.profile})` : ""}</option>
          ${(answer?.profiles ?? []).map((/** @type {string} */ one) => html`<option value=${one}>${one}</option>`)}
        </select></label></h2>
    <ul class="moved-list">
      ${shown.map(
        (signal) => html`<li key=${signal}><${Switch} signal=${signal} factor=${side.factors[signal] ?? 1} move=${move} /><code>${signal}</code>
          <${Slider} signal=${signal} factor=${side.factors[signal] ?? 1} move=${move} />
          <button class="plain" aria-label=${`Put ${signal} back`} onClick=${() => putBack(signal)}>✕</button></li>`,
      )}
    </ul>
    <label><span class="hidden">Move a weight of ${name.toUpperCase()}</span>
      <select value="" onChange=${begin}>
        <option value="">switch a signal off, or move it …</option>
        ${signals.filter((one) => !shown.includes(one.name)).map((one) => html`<option value=${one.name} title=${one.doc}>${one.name} (${one.short} / ${one.long})</option>`)}
      </select></label>
  </section>`;
}
