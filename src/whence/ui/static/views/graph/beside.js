// What the picture shows of one symbol, in words: where it is, and everything that it is joined to.
import { change, given, linkTo } from "../../lib/address.js";
import { html } from "../../lib/dom.js";
import { Excerpt } from "../../lib/excerpt.js";
import { counted } from "../../lib/parts.js";

/** @typedef {import("../graph.js").GraphNode} GraphNode */
/** @typedef {import("../graph.js").GraphEdge} GraphEdge */
/** @typedef {import("../graph.js").Graph} Graph */
/** @typedef {{edge: GraphEdge, node: GraphNode}} Joined */

/** Each group from either end: what an edge out of the symbol says, and what one that leads to it says. */
const SAID = /** @type {[string, "in" | "out", string][]} */ ([
  ["calls", "in", "Called by"],
  ["calls", "out", "Calls"],
  ["inheritance", "out", "Inherits, overrides"],
  ["inheritance", "in", "Inherited, overridden by"],
  ["tests", "in", "Tested by"],
  ["tests", "out", "Tests"],
  ["contains", "in", "Member of"],
  ["contains", "out", "Members"],
  ["other", "in", "Used otherwise by"],
  ["other", "out", "Uses otherwise"],
]);
const SURE = 0.999;
/** So many of a list are shown at once, the others when asked for. */
const AT_ONCE = 12;

/** @param {{graph: Graph, chosen: string, code: boolean}} props */
export function Beside({ graph, chosen, code }) {
  const nodes = new Map(graph.nodes.map((one) => [one.key, one]));
  const node = nodes.get(chosen);
  if (!node) return null;
  const tests = new Set(joinedTo(graph, nodes, chosen, "tests", "in").map((one) => one.node));
  const lists = SAID.map(([group, way, title]) => {
    const joined = joinedTo(graph, nodes, chosen, group, way);
    return { title, joined: group === "calls" && way === "in" ? joined.filter((one) => !tests.has(one.node)) : joined }; // a test is listed once
  }).filter((one) => one.joined.length > 0);
  return html`<aside class="chosen" aria-label="The chosen symbol">
    <${Head} node=${node} focus=${graph.focus} root=${graph.root} code=${code} />
    ${lists.length === 0 && html`<p class="dim">Nothing in this picture is joined to it.</p>`}
    ${lists.map(({ title, joined }) => html`<${List} key=${`${chosen} ${title}`} title=${title} joined=${joined} />`)}
  </aside>`;
}

/** @param {{title: string, joined: Joined[]}} props */
function List({ title, joined }) {
  const [first, rest] = [joined.slice(0, AT_ONCE), joined.slice(AT_ONCE)];
  return html`<section><h3>${title} <span class="dim">${joined.length}</span></h3>
    <ul>${first.map(Line)}</ul>
    ${rest.length > 0 && html`<details><summary>${rest.length} more</summary><ul>${rest.map(Line)}</ul></details>`}
  </section>`;
}

/** @param {Graph} graph @param {Map<string, GraphNode>} nodes @param {string} chosen @param {string} group @param {"in" | "out"} way @returns {Joined[]} */
function joinedTo(graph, nodes, chosen, group, way) {
  const found = [];
  for (const edge of graph.edges) {
    if (edge.group !== group || (way === "in" ? edge.target : edge.source) !== chosen) continue;
    const node = nodes.get(way === "in" ? edge.source : edge.target);
    if (node) found.push({ edge, node });
  }
  return found.sort((one, other) => other.node.score - one.node.score);
}

/** @param {{node: GraphNode, focus: string, root: string, code: boolean}} props */
function Head({ node, focus, root, code }) {
  const away = `${counted(node.distance, "hop")} away · the walk is here ${(node.score * 100).toFixed(1)} % as often as in the middle`;
  return html`<header>
    <h2>${node.name || node.path || node.key} <span class="dim">${node.kind}</span></h2>
    <p class="dim">${node.path && `${node.path}:${node.line}–${node.end_line} · `}${node.key === focus ? "in the middle" : away}</p>
    <p class="row">
      ${node.key !== focus && html`<a class="button" href=${linkTo("/graph", { ...given(), symbol: node.key, open: null })}>Walk here</a>`}
      ${node.path && html`<button aria-expanded=${code} onClick=${() => change({ panel: code ? null : "code" })}>Code</button>`}
      ${node.name && html`<a class="button" href=${linkTo("/", { root, q: `callers:${node.name}` })}>Search its callers</a>`}
    </p>
    ${code && node.path && html`<${Excerpt} root=${root} path=${node.path} first=${node.line} last=${node.end_line} />`}
  </header>`;
}

/** @param {Joined} props */
function Line({ edge, node }) {
  return html`<li key=${`${edge.kind} ${node.key}`}>
    <a href=${linkTo("/graph", { ...given(), symbol: node.key, open: null })}>${node.name || node.path || node.key}</a>
    <span class="dim"> ${edge.kind !== edge.group ? `${edge.kind.replaceAll("_", " ")} · ` : ""}${node.path && `${node.path}:${node.line}`}${edge.count > 1 ? ` · ${edge.count} edges` : ""}${edge.confidence < SURE ? ` · ${edge.provenance.replaceAll("_", " ")}, ${edge.confidence.toFixed(2)}` : ""}</span>
  </li>`;
}
