// A file that should be there and is not.
import { change } from "../../lib/address.js";
import { html, useRef } from "../../lib/dom.js";
import { useKeys } from "../../lib/keys.js";

/** @param {{root: string}} props */
export function WhyNot({ root }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useKeys([{ key: "n", does: "why something is not there", run: () => field.current?.focus() }]);
  const ask = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const target = field.current?.value.trim();
    if (target) change({ open: `${root}:${target}`, panel: null }, { step: true });
  };
  return html`<form class="why-not" onSubmit=${ask}>
    <label for="why-not">Something missing?</label>
    <input id="why-not" ref=${field} placeholder="its path, path:line or name" autocomplete="off" autocapitalize="off" spellcheck=${false} />
    <button>Why not</button>
  </form>`;
}
