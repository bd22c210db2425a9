// The text of a pack, as `whence context` prints it.
import { change } from "../../lib/address.js";
import { html, useEffect, useState } from "../../lib/dom.js";
import { tokensOf } from "./words.js";

/** @param {{pack: import("./words.js").Pack, format: string}} props */
export function PackText({ pack, format }) {
  const [said, setSaid] = useState("");
  useEffect(() => setSaid(""), [pack.text]);
  const copy = () =>
    navigator.clipboard.writeText(pack.text).then(
      () => setSaid("Copied."),
      () => setSaid("The browser does not allow it: select the text and copy it."),
    );
  return html`<div class="row">
      <button onClick=${copy}>Copy</button>
      <label>Format
        <select value=${format} onChange=${(/** @type {Event & {currentTarget: HTMLSelectElement}} */ event) => change({ format: event.currentTarget.value })}>
          <option value="">as set</option><option value="markdown">Markdown</option><option value="xml">XML</option><option value="json">JSON</option>
        </select></label>
      <span class="dim">${tokensOf(pack.tokens)} tokens</span>
      <span role="status">${said}</span>
    </div>
    <pre class="code printed" tabindex="0" aria-label="The text">${pack.text}</pre>`;
}
