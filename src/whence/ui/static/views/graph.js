// The neighbourhood of a symbol as a picture one can walk, and beside it the same in words.
import { change, given, go, linkTo } from "../lib/address.js";
import { get } from "../lib/api.js";
import { useAnswer } from "../lib/asking.js";
import { html, useEffect, useMemo, useState } from "../lib/dom.js";
import { useKeys } from "../lib/keys.js";
import { counted, freshness, Wrong } from "../lib/parts.js";
import { Picture } from "../lib/picture.js";
import { Asking, focusSymbol } from "./graph/asking.js";
import { Beside } from "./graph/beside.js";
import { Offers } from "./graph/offers.js";

/** @typedef {{key: string, name: string, kind: string, path: string, line: number, end_line: number, score: number, distance: number, in_tests: boolean}} GraphNode */
/** @typedef {{source: string, target: string, kind: string, group: string, confidence: number, provenance: string, line: number, count: number}} GraphEdge */
/** @typedef {{root: string, focus: string, nodes: GraphNode[], edges: GraphEdge[], left_out: number, open_calls: number, choices: import("./graph/offers.js").Offer[], fresh: import("../lib/parts.js").Fresh, milliseconds: number}} Graph */

/** How often an index that is being built is asked again, in milliseconds. */
const PATIENCE = 1000;
/** The largest of the others, as a share of the symbol in the middle: the walk is there far more often than anywhere else. */
const LARGEST_OTHER = 0.6;
/** Letters of a name in the picture. */
const LONGEST_LABEL = 26;
/** Definitions that hold others are drawn as squares. */
const TYPES = new Set(["class", "struct", "enum", "interface", "trait", "module", "namespace", "type", "impl", "object", "union", "protocol", "record"]);

/** @param {import("../app.js").ViewProps} props */
export function GraphView({ roots, root, params }) {
  const symbol = params.get("symbol") ?? "";
  const { answer, error, busy } = useGraph(symbol, root, params);
  /** @type {Graph | null} */
  const graph = symbol && answer?.focus ? answer : null;
  const chosen = graph?.nodes.some((one) => one.key === params.get("open")) ? (params.get("open") ?? "") : (graph?.focus ?? "");
  const walk = (/** @type {string} */ key) => go(linkTo("/graph", { ...given(), symbol: key, open: null }));
  useKeys([
    { key: "/", does: "to the symbol", run: focusSymbol },
    { key: "c", does: "its code", run: () => change({ panel: params.get("panel") === "code" ? null : "code" }) },
    { key: "Escape", does: "back to the symbol in the middle", inFields: true, run: () => (document.activeElement instanceof HTMLInputElement ? document.activeElement.blur() : change({ open: null, panel: null })) },
  ]);
  return html`<main class="graph" aria-busy=${busy}>
    <h1 class="hidden">Graph</h1>
    <${Asking} symbol=${symbol} name=${nameOf(graph)} root=${root} params=${params} walk=${walk} />
    <${Wrong} error=${error} />
    ${symbol && !answer && !error && html`<p class="wait" role="status">Walking …</p>`}
    ${!symbol && html`<${Beginning} root=${root} />`}
    ${symbol && answer?.choices.length > 0 && html`<${Offers} title=${`${counted(answer.choices.length, "symbol")} are called ${symbol}`} offers=${answer.choices} />`}
    ${graph && !error && html`<${State} graph=${graph} several=${roots.length > 1} />
        <div class="beside">
          <div><${Drawn} graph=${graph} chosen=${chosen} walk=${walk} /></div>
          <${Beside} graph=${graph} chosen=${chosen} code=${params.get("panel") === "code"} />
        </div>`}
  </main>`;
}

/** @param {string} symbol @param {string} root @param {URLSearchParams} params */
function useGraph(symbol, root, params) {
  const [again, setAgain] = useState(0);
  const asked = symbol ? { symbol, root, depth: params.get("depth"), most: params.get("most"), groups: params.get("groups") } : null;
  const found = useAnswer(asked, (one, signal) => get("graph", one, signal), again);
  const building = found.error instanceof Error && found.error.message.startsWith("the index is being built");
  useEffect(() => {
    if (!building) return;
    const timer = setTimeout(() => setAgain((count) => count + 1), PATIENCE);
    return () => clearTimeout(timer);
  }, [building, again, found.error]);
  return found;
}

/** @param {Graph | null} graph */
function nameOf(graph) {
  return graph ? (graph.nodes[0]?.name ?? graph.focus) : "";
}

/** Where a walk may begin. @param {{root: string}} props */
function Beginning({ root }) {
  const { answer, error } = useAnswer({ root, most: 24 }, (one, signal) => get("symbols", one, signal));
  if (error) return html`<${Wrong} error=${error} />`;
  if (!answer) return html`<p class="wait">Looking …</p>`;
  if (!answer.symbols.length) return html`<p class="empty">Nothing that is indexed defines anything.</p>`;
  return html`<p class="empty">Name a symbol, or begin at one on which much depends.</p><${Offers} title="Most used" offers=${answer.symbols} />`;
}

/** @param {{graph: Graph, several: boolean}} props */
function State({ graph, several }) {
  const { fresh, nodes, left_out: out, open_calls: open } = graph;
  return html`<div class="states" role="status">
    <p class="dim">${several && `${graph.root} · `}${counted(nodes.length - 1, "symbol")} around it${out > 0 ? `; the walk came to ${out.toLocaleString("en")} more, less often` : ""}</p>
    ${open > 0 && html`<p class="warning">${counted(open, "call")} of this name ${open === 1 ? "leads" : "lead"} nowhere and may mean it</p>`}
    <p class="dim">${freshness(fresh)} · ${graph.milliseconds.toFixed(0)} ms</p>
  </div>`;
}

/** @param {{graph: Graph, chosen: string, walk: (key: string) => void}} props */
function Drawn({ graph, chosen, walk }) {
  const nodes = useMemo(() => nodesOf(graph), [graph]);
  const edges = useMemo(() => graph.edges.map((one) => ({ source: one.source, target: one.target, group: one.group, weight: one.confidence })), [graph]);
  const label = `${nameOf(graph)} and ${counted(nodes.length - 1, "symbol")} around it. What is joined to the chosen one is listed beside the picture.`;
  return html`<${Picture} nodes=${nodes} edges=${edges} focus=${graph.focus} chosen=${chosen} onChoose=${(/** @type {string} */ key) => change({ open: key === graph.focus ? null : key })} onWalk=${walk} label=${label} />
    <p class="dim">The larger, the more often the walk is there. Squares are types; what lies in tests is paler. A double click, or Enter, walks on.</p>`;
}

/** A name as it stands in the picture, where long ones would hide their neighbours. @param {string} name */
function shortened(name) {
  return name.length > LONGEST_LABEL ? `${name.slice(0, LONGEST_LABEL - 1)}…` : name;
}

/** @param {Graph} graph */
function nodesOf({ nodes, focus }) {
  const most = Math.max(...nodes.filter((one) => one.key !== focus).map((one) => one.score), 1e-9);
  return nodes.map((one) => ({
    id: one.key,
    label: shortened(one.name || one.path.slice(one.path.lastIndexOf("/") + 1) || one.key),
    folder: one.path.slice(0, Math.max(one.path.lastIndexOf("/"), 0)),
    size: one.key === focus ? 1 : (LARGEST_OTHER * one.score) / most,
    dim: one.in_tests,
    shape: /** @type {"round" | "square"} */ (TYPES.has(one.kind) ? "square" : "round"),
  }));
}
