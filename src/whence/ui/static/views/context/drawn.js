// The best symbols of a pack as a picture: as large as the walk found them near, those left out dimmed.
import { change, go, linkTo } from "../../lib/address.js";
import { html, useMemo } from "../../lib/dom.js";
import { counted } from "../../lib/parts.js";
import { Picture } from "../../lib/picture.js";
import { SymbolRow } from "./symbols.js";
import { isShown } from "./words.js";

/** As many as the server tells edges of. */
const MOST_DRAWN = 120;

/** @param {import("./symbols.js").ListProps} props */
export function Drawn(props) {
  const { pack, open, root } = props;
  const nodes = useMemo(
    () =>
      pack.symbols.slice(0, MOST_DRAWN).map((one) => ({
        id: one.key,
        label: one.qualified_name,
        folder: one.path.slice(0, Math.max(one.path.lastIndexOf("/"), 0)),
        size: one.walk,
        dim: !isShown(one),
      })),
    [pack],
  );
  if (!nodes.length) return html`<p class="empty">There is nothing to draw.</p>`;
  const dimmed = nodes.filter((one) => one.dim).length;
  const symbol = pack.symbols.find((one) => one.key === open);
  return html`<${Picture}
      nodes=${nodes}
      edges=${pack.edges}
      focus=${nodes[0].id}
      chosen=${open}
      onChoose=${(/** @type {string} */ key) => change({ open: key, panel: null })}
      onWalk=${(/** @type {string} */ key) => go(linkTo("/graph", { root, symbol: key }))}
      label=${`The best ${counted(nodes.length, "symbol")} and what joins them; ${dimmed} are left out of the text. The list of symbols tells the same.`}
    />
    <p class="dim">The larger, the nearer the walk found it to the best${dimmed > 0 && `; ${dimmed} are left out of the text and dimmed`}.</p>
    ${symbol && html`<ol class="packed"><${SymbolRow} symbol=${symbol} ...${props} /></ol>`}`;
}
