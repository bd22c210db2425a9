// Tabs that arrow keys move along.
import { html } from "../../lib/dom.js";

/** @typedef {{id: string, name: string}} Tab */

/** @param {{label: string, tabs: Tab[], chosen: string, choose: (id: string) => void, panel: string}} props */
export function Tabs({ label, tabs, chosen, choose, panel }) {
  const onKeyDown = (/** @type {KeyboardEvent & {currentTarget: HTMLElement}} */ event) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const next = (tabs.findIndex((one) => one.id === chosen) + by + tabs.length) % tabs.length;
    choose(tabs[next].id);
    const button = event.currentTarget.children[next];
    if (button instanceof HTMLElement) button.focus();
  };
  return html`<div role="tablist" aria-label=${label} onKeyDown=${onKeyDown}>
    ${tabs.map(
      ({ id, name }) =>
        html`<button type="button" role="tab" key=${id} aria-selected=${id === chosen} aria-controls=${panel} tabindex=${id === chosen ? 0 : -1} onClick=${() => choose(id)}>${name}</button>`,
    )}
  </div>`;
}
