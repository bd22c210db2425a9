// Symbols to choose from.
import { given, linkTo } from "../../lib/address.js";
import { html } from "../../lib/dom.js";
import { counted } from "../../lib/parts.js";

/** @typedef {{key: string, name: string, kind: string, path: string, line: number, uses: number | null}} Offer */

/** @param {{title: string, offers: Offer[]}} props */
export function Offers({ title, offers }) {
  return html`<section class="offers"><h2>${title}</h2>
    <ul>${offers.map(
      (one) => html`<li key=${one.key}>
        <a href=${linkTo("/graph", { ...given(), symbol: one.key, open: null })}>${one.name || one.key}</a> <span class="dim">${one.kind}</span>
        <div class="where dim">${one.path && `${one.path}:${one.line}`}${one.uses !== null && ` · used by ${counted(one.uses, "symbol")}`}</div>
      </li>`,
    )}</ul>
  </section>`;
}
