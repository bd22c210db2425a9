// Where the nodes of a picture lie: the same for the same nodes, and what was there before stays where it was.
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "../../vendor/d3-force.js";

/** @typedef {{id: string, label: string, folder: string, size: number, dim?: boolean, shape?: "round" | "square"}} PictureNode */
/** @typedef {{source: string, target: string, group: string, weight: number}} PictureEdge */
/** @typedef {{x: number, y: number}} Point */
/** @typedef {{node: PictureNode, x: number, y: number, vx?: number, vy?: number, fx?: number | null, fy?: number | null, radius: number}} Spot */
/** @typedef {{edge: PictureEdge, source: Spot, target: Spot, lane: number}} Link */

const SMALLEST = 4;
const LARGEST = 17;
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
const APART = 26;
const DECAY = 0.035;

/** @param {PictureNode} node */
function radiusOf({ size }) {
  return SMALLEST + (LARGEST - SMALLEST) * Math.sqrt(Math.max(0, Math.min(1, size)));
}

/**
 * Each node with a place to begin from: its own from before, else near a neighbour that has one, else on a spiral by its order.
 * @param {PictureNode[]} nodes @param {PictureEdge[]} edges @param {Map<string, Point>} before @returns {Spot[]}
 */
export function spotsOf(nodes, edges, before) {
  const near = placedNeighbours(edges, before);
  return nodes.map((node, order) => {
    const radius = radiusOf(node);
    const known = before.get(node.id);
    if (known) return { node, radius, x: known.x, y: known.y, fx: known.x, fy: known.y };
    const beside = near.get(node.id) ?? { x: 0, y: 0 };
    const away = near.has(node.id) ? 2 * APART : APART * Math.sqrt(order);
    return { node, radius, x: beside.x + away * Math.cos(order * GOLDEN_ANGLE), y: beside.y + away * Math.sin(order * GOLDEN_ANGLE) };
  });
}

/** The first neighbour of each node that has a place. @param {PictureEdge[]} edges @param {Map<string, Point>} before */
function placedNeighbours(edges, before) {
  /** @type {Map<string, Point>} */
  const near = new Map();
  for (const { source, target } of edges) {
    for (const [one, other] of [[source, target], [target, source]]) {
      const place = before.get(other);
      if (place && !before.has(one) && !near.has(one)) near.set(one, place);
    }
  }
  return near;
}

/**
 * Edges between nodes that are there; several between the same two lie side by side.
 * @param {PictureEdge[]} edges @param {Spot[]} spots @returns {Link[]}
 */
export function linksOf(edges, spots) {
  const byId = new Map(spots.map((spot) => [spot.node.id, spot]));
  /** @type {Map<string, Link[]>} */
  const pairs = new Map();
  for (const edge of edges) {
    const [source, target] = [byId.get(edge.source), byId.get(edge.target)];
    if (!source || !target || source === target) continue;
    const pair = edge.source < edge.target ? `${edge.source}\n${edge.target}` : `${edge.target}\n${edge.source}`;
    const beside = pairs.get(pair) ?? [];
    beside.push({ edge, source, target, lane: 0 });
    pairs.set(pair, beside);
  }
  return [...pairs.values()].flatMap((beside) => {
    beside.forEach((link, place) => {
      const side = link.edge.source < link.edge.target ? 1 : -1;
      link.lane = side * (place - (beside.length - 1) / 2);
    });
    return beside;
  });
}

/** Moves nodes until they lie still, a little at a time. */
export class Layout {
  /** @param {Spot[]} spots @param {Link[]} links */
  constructor(spots, links) {
    this.spots = spots;
    this.atRest = spots.every((spot) => spot.fx !== undefined && spot.fx !== null);
    this.forces = forceSimulation(spots)
      .stop()
      .alphaDecay(DECAY)
      .velocityDecay(0.35)
      .force("link", /** @type {typeof forceLink<Spot, Link>} */ (forceLink)(links).distance((one) => 44 + one.source.radius + one.target.radius))
      .force("apart", /** @type {typeof forceManyBody<Spot>} */ (forceManyBody)().strength((one) => -90 - 14 * one.radius).distanceMax(700))
      .force("room", /** @type {typeof forceCollide<Spot>} */ (forceCollide)((one) => one.radius + 7))
      // Wider than high, as a screen is; this also holds together what no edge joins.
      .force("across", /** @type {typeof forceX<Spot>} */ (forceX)(0).strength(0.035))
      .force("down", /** @type {typeof forceY<Spot>} */ (forceY)(0).strength(0.065));
  }

  /** Go on for some milliseconds. @param {number} milliseconds */
  step(milliseconds) {
    const until = performance.now() + milliseconds;
    while (!this.atRest && performance.now() < until) {
      this.forces.tick();
      this.atRest = this.forces.alpha() < this.forces.alphaMin();
    }
    if (this.atRest) for (const spot of this.spots) spot.fx = spot.fy = null;
  }
}
