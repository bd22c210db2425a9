// What reads meaning here, and the settings that somebody chose.
import { html } from "../../lib/dom.js";
import { counted } from "../../lib/parts.js";

/** @typedef {{name: string, fingerprint: string, width: number, passages: number, trouble: string}} ModelState */
/** @typedef {{name: string, value: string, source: string}} Differing */

/** @param {{model: ModelState, settings: Differing[], madeWith: string}} props */
export function Model({ model, settings, madeWith }) {
  return html`<section class="card" aria-labelledby="model">
    <h2 id="model">Model and settings</h2>
    ${model.trouble && html`<p class="warning">${model.trouble}</p>`}
    <p>${model.fingerprint
      ? html`Meaning is read by <code>${model.fingerprint}</code> (${model.name}), ${model.width} wide, ${counted(model.passages, "passage")}.`
      : "No model is in use: answers are by words alone."}
    ${madeWith && ` Made with whence ${madeWith}.`}</p>
    ${settings.length
      ? html`<table><thead><tr><th>Setting</th><th>Value</th><th>From</th></tr></thead><tbody>${settings.map(
          (one) => html`<tr><td><code>${one.name}</code></td><td class="path">${one.value}</td><td class="dim path">${one.source}</td></tr>`,
        )}</tbody></table>`
      : html`<p class="dim">All settings are as by default.</p>`}
  </section>`;
}
