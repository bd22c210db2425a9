// The symbols of a pack, best first, each with what it takes, why it is there, and its code.
import { change, linkTo } from "../../lib/address.js";
import { html } from "../../lib/dom.js";
import { Excerpt } from "../../lib/excerpt.js";
import { counted } from "../../lib/parts.js";
import { Receipt } from "./receipt.js";
import { FORMS, isShown, nameIn, tokensOf, whyLeftOut } from "./words.js";

/** @typedef {import("./words.js").Pack} Pack */
/** @typedef {import("./words.js").PackedSymbol} PackedSymbol */
/** @typedef {import("./words.js").Wanted} Wanted */
/** @typedef {{pack: Pack, wanted: Wanted, root: string, open: string, panel: string, most: number, light: (key: string) => void}} ListProps */

/** What is in the text. @param {ListProps} props */
export function ShownList(props) {
  const shown = props.pack.symbols.filter(isShown);
  if (!shown.length) return html`<p class="empty">Nothing fits into ${tokensOf(props.pack.budget)} tokens.</p>`;
  return html`<ol class="packed">${shown.map((symbol) => html`<${SymbolRow} key=${symbol.key} symbol=${symbol} ...${props} />`)}</ol>`;
}

/** What is not. @param {ListProps} props */
export function LeftOutList(props) {
  const { counts, symbols } = props.pack;
  const out = symbols.filter((one) => !isShown(one));
  if (!out.length) return html`<p class="empty">Nothing was left out.</p>`;
  const told = out.filter((one) => one.form === "beyond").length;
  return html`<p class="dim">${counted(counts.left_out, "symbol")} did not fit. ${counts.beyond > 0 && `${counts.beyond.toLocaleString("en")} more are ranked below the first ${counts.looked_at} and are not looked at${told < counts.beyond ? `; the best ${told} of them are listed` : ""}.`}</p>
    <ol class="packed">${out.map((symbol) => html`<${SymbolRow} key=${symbol.key} symbol=${symbol} ...${props} />`)}</ol>`;
}

/** @param {{symbol: PackedSymbol} & ListProps} props */
export function SymbolRow({ symbol, pack, wanted, root, open, panel, most, light }) {
  const { key, form } = symbol;
  const opened = open === key ? panel : "";
  const toggle = (/** @type {string} */ kind) => () => change({ open: key, panel: opened === kind ? null : kind }, { step: true });
  return html`<li class=${open === key ? "at" : ""} data-key=${key} onFocusIn=${() => light(key)} onMouseEnter=${() => light(key)} onMouseLeave=${() => light("")}>
    <span class="rank">${symbol.rank}</span>
    <div class="who">
      <a href=${linkTo("/graph", { root, symbol: key })} title="its neighbourhood">${symbol.qualified_name}</a> <span class="dim">${symbol.kind}</span>
      <div class="where dim">${symbol.path}:${symbol.start_line}–${symbol.end_line}</div>
    </div>
    <${Cost} symbol=${symbol} most=${most} />
    <div class="more">
      <button aria-expanded=${opened === "why"} onClick=${toggle("why")} aria-label=${`Why ${symbol.qualified_name} has ${symbol.score.toFixed(2)}`}>${symbol.score.toFixed(2)} why</button>
      <button aria-expanded=${opened === "code"} onClick=${toggle("code")} aria-label=${`Code of ${symbol.qualified_name}`}>code</button>
    </div>
    ${symbol.warning && html`<p class="warning whole">${symbol.warning}</p>`}
    ${!isShown(symbol) && html`<p class="dim whole">${whyLeftOut(symbol, pack.counts)}</p>`}
    ${form === "inside" && html`<p class="dim whole">in the source of ${nameIn(symbol.holder)}</p>`}
    ${opened === "why" && html`<div class="whole"><${Receipt} wanted=${wanted} symbol=${symbol} /></div>`}
    ${opened === "code" && html`<div class="whole"><${Excerpt} root=${root} path=${symbol.path} first=${symbol.start_line} last=${symbol.end_line} /></div>`}
  </li>`;
}

/** What is shown of a symbol, and what that takes. @param {{symbol: PackedSymbol, most: number}} props */
function Cost({ symbol, most }) {
  return html`<div class="cost">
    <span class="form"><i class=${`swatch form-${symbol.form}`}></i>${FORMS[symbol.form]}</span>
    ${symbol.tokens > 0 &&
    html`<span class="tokens"><i class="length" aria-hidden="true"><i class=${`form-${symbol.form}`} style=${`width:${(symbol.tokens / most) * 100}%`}></i></i><span class="count">${tokensOf(symbol.tokens)}<span class="hidden"> tokens</span></span></span>`}
  </div>`;
}
