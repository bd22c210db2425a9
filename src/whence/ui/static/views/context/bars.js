// The budget as a bar: what each symbol takes of it, and below it what there was no room for.
import { html } from "../../lib/dom.js";
import { counted } from "../../lib/parts.js";
import { FORMS, isShown, tokensOf } from "./words.js";

/** @typedef {import("./words.js").Pack} Pack */
/** @typedef {import("./words.js").PackedSymbol} PackedSymbol */
/** @typedef {{lit: string, light: (key: string) => void, choose: (symbol: PackedSymbol) => void}} Touch */

/** A segment below this share of its bar has no line beside it: there would be nothing else of it. */
const THIN = 0.004;

/** @param {{pack: Pack} & Touch} props */
export function Bars({ pack, ...touch }) {
  return html`<section class="bars" aria-label="Budget">
    <${Used} pack=${pack} ...${touch} />
    <${Caption} pack=${pack} lit=${touch.lit} />
    <${Missing} pack=${pack} ...${touch} />
  </section>`;
}

/** @param {{pack: Pack} & Touch} props */
function Used({ pack, ...touch }) {
  const { budget, tokens, frame_tokens, counts } = pack;
  const shown = pack.symbols.filter((one) => one.tokens > 0);
  const said = `${tokensOf(tokens)} of ${tokensOf(budget)} tokens are used: ${formsSaid(pack)}. The list of symbols below tells what each takes.`;
  return html`<h2><span class="given">${tokensOf(tokens)}</span> of ${tokensOf(budget)} tokens <span class="dim">for ${counted(counts.ranked - counts.left_out - counts.beyond, "symbol")} of ${counts.ranked.toLocaleString("en")} ranked</span></h2>
    <div class="bar" role="img" aria-label=${said} onMouseLeave=${() => touch.light("")}>
      <i class="frame" style=${`flex-grow:${frame_tokens}`} title=${`head and foot: ${tokensOf(frame_tokens)} tokens`}></i>
      ${shown.map((one) => html`<${Segment} key=${one.key} symbol=${one} tokens=${one.tokens} all=${budget} ...${touch} />`)}
      <i class="free" style=${`flex-grow:${Math.max(budget - tokens, 0)}`} title=${`free: ${tokensOf(budget - tokens)} tokens`}></i>
    </div>`;
}

/** @param {{symbol: PackedSymbol, tokens: number, all: number} & Touch} props */
function Segment({ symbol, tokens, all, lit, light, choose }) {
  const kinds = [`form-${symbol.form}`, tokens / all < THIN && "thin", lit === symbol.key && "lit"];
  return html`<i
    class=${kinds.filter(Boolean).join(" ")}
    style=${`flex-grow:${tokens}`}
    title=${`${symbol.qualified_name}: ${tokensOf(tokens)} tokens`}
    onMouseEnter=${() => light(symbol.key)}
    onClick=${() => choose(symbol)}
  ></i>`;
}

/** @param {Pack} pack */
function formsSaid({ counts }) {
  const said = [
    counts.body && `${counts.body} with full source`,
    counts.inside && `${counts.inside} inside these`,
    counts.excerpt && `${counts.excerpt} with an excerpt`,
    counts.signature && `${counts.signature} with signature`,
    counts.pointer && `${counts.pointer} by name only`,
  ];
  return said.filter(Boolean).join(", ") || "no symbol";
}

/** What the colours mean, or what the pointer or the focus is on. @param {{pack: Pack, lit: string}} props */
function Caption({ pack, lit }) {
  const on = lit && pack.symbols.find((one) => one.key === lit);
  if (on) {
    const tokens = isShown(on) ? on.tokens : (on.uncut_tokens ?? 0);
    return html`<p class="caption"><strong>${on.qualified_name}</strong> ${FORMS[on.form]}${tokens > 0 && ` · ${isShown(on) ? "" : "would take "}${tokensOf(tokens)} tokens · ${((tokens / pack.budget) * 100).toPrecision(2)} % of the budget`}</p>`;
  }
  const free = pack.budget - pack.tokens;
  return html`<p class="caption legend">
    ${/** @type {const} */ (["body", "excerpt", "signature", "pointer"]).map(
      (form) => pack.counts[form] > 0 && html`<span key=${form}><i class=${`swatch form-${form}`}></i>${FORMS[form]} ${pack.counts[form]}</span>`,
    )}
    ${pack.counts.inside > 0 && html`<span class="dim">inside these ${pack.counts.inside}</span>`}
    <span><i class="swatch frame"></i>head and foot</span>
    ${free > 0 && html`<span><i class="swatch free"></i>free ${tokensOf(free)}</span>`}
  </p>`;
}

/** @param {{pack: Pack} & Touch} props */
function Missing({ pack, ...touch }) {
  const { missing_tokens: missing, budget, counts, symbols } = pack;
  if (!counts.looked_at) return null;
  if (missing < 1) return html`<p class="good">All ${counts.looked_at} symbols that were looked at are there in full.</p>`;
  const left = symbols.filter((one) => one.form === "left_out" && (one.uncut_tokens ?? 0) > 0);
  const rest = Math.max(missing - left.reduce((sum, one) => sum + (one.uncut_tokens ?? 0), 0), 0);
  const said = [counts.left_out && `${counted(counts.left_out, "symbol")} left out`, rest >= 1 && `about ${tokensOf(rest)} tokens for the rest of those shown in part`];
  return html`<h2>Would need about <span class="given">${tokensOf(missing)}</span> tokens more <span class="dim">to show all ${counts.looked_at} that were looked at in full</span></h2>
    <div class="bar left-out" style=${`width:${Math.max(Math.min(missing / budget, 1) * 100, 1)}%`} role="img" aria-label=${said.filter(Boolean).join(", ")} onMouseLeave=${() => touch.light("")}>
      ${left.map((one) => html`<${Segment} key=${one.key} symbol=${one} tokens=${one.uncut_tokens ?? 0} all=${missing} ...${touch} />`)}
      <i class="part" style=${`flex-grow:${rest}`} title=${`the rest of what is shown in part: ${tokensOf(rest)} tokens`}></i>
    </div>
    <p class="caption">
      ${counts.left_out > 0 && html`<span><i class="swatch form-left_out"></i>left out ${counts.left_out}</span> `}
      ${rest >= 1 && html`<span><i class="swatch part"></i>the rest of what is shown in part ${tokensOf(rest)}</span> `}
      ${missing > budget && html`<span class="dim">drawn smaller than the bar above: it is ${(missing / budget).toPrecision(2)} times the budget</span>`}
    </p>`;
}
