// A picture on its canvas: what is in it, where one looks from, and when it is drawn.
import { Camera } from "./camera.js";
import { onColours, readColours } from "./colours.js";
import { bundlesOf, draw } from "./drawing.js";
import { handsOn } from "./hands.js";
import { Layout, linksOf, spotsOf } from "./layout.js";
import { radiusOnScreen } from "./scene.js";

/** @typedef {import("./layout.js").PictureNode} PictureNode */
/** @typedef {import("./layout.js").PictureEdge} PictureEdge */
/** @typedef {import("./layout.js").Spot} Spot */
/** @typedef {{choose: (id: string) => void, walk: (id: string) => void}} Told */

/** Milliseconds of a frame that may be spent on moving nodes; more where nothing is drawn meanwhile. */
const STEP = 14;
const STEP_UNSEEN = 30;
const GLIDE = 350;
/** Pixels around a node that belong to it for a pointer. */
const SLACK = 6;

export class Stage {
  /** @param {HTMLCanvasElement} canvas @param {HTMLElement} probe @param {Told} told */
  constructor(canvas, probe, told) {
    this.canvas = canvas;
    this.told = told;
    this.camera = new Camera();
    /** @type {Spot[]} */
    this.spots = [];
    /** @type {import("./drawing.js").Bundle[]} */
    this.bundles = [];
    /** @type {Map<string, number>} */
    this.hues = new Map();
    this.colours = readColours(probe);
    this.focus = this.chosen = this.hovered = "";
    this.layout = new Layout([], []);
    this.frame = 0;
    /** Whether the view follows the nodes while they move. */
    this.following = true;
    this.fitWhenAtRest = true;
    this.still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const sized = new ResizeObserver(() => this.resize());
    sized.observe(canvas);
    const hands = handsOn(canvas, this);
    const coloured = onColours(() => {
      this.colours = readColours(probe);
      this.wake();
    });
    this.close = () => {
      cancelAnimationFrame(this.frame);
      sized.disconnect();
      hands();
      coloured();
    };
  }

  /**
   * Show other nodes; those that were there stay where they are.
   * @param {PictureNode[]} nodes @param {PictureEdge[]} edges @param {string} focus @param {Map<string, number>} hues
   */
  show(nodes, edges, focus, hues) {
    const before = new Map(this.spots.map((spot) => [spot.node.id, { x: spot.x, y: spot.y }]));
    const walked = focus !== this.focus;
    this.spots = spotsOf(nodes, edges, before);
    const links = linksOf(edges, this.spots);
    this.bundles = bundlesOf(links);
    this.hues = hues;
    this.layout = new Layout(this.spots, links);
    this.focus = focus;
    this.hovered = "";
    const kept = nodes.some((node) => before.has(node.id));
    this.following = !kept;
    this.fitWhenAtRest = walked || !this.layout.atRest;
    this.wake();
  }

  /** @param {string} id */
  choose(id) {
    this.chosen = id;
    const spot = this.spots.find((one) => one.node.id === id);
    if (spot) this.bringIntoView(spot);
    this.wake();
  }

  /** @param {Spot | null} spot */
  hover(spot) {
    const id = spot?.node.id ?? "";
    this.canvas.style.cursor = spot ? "pointer" : "grab";
    if (id === this.hovered) return;
    this.hovered = id;
    this.wake();
  }

  /** Change the view, by hand. @param {(camera: Camera) => void} change */
  moveBy(change) {
    change(this.camera);
    this.following = this.fitWhenAtRest = false;
    this.wake();
  }

  /** Show everything. */
  fit() {
    this.camera.glide(this.camera.fitting(this.spots), this.still ? 0 : GLIDE);
    this.wake();
  }

  /** Lay all nodes out anew, as if they had just come. */
  layAnew() {
    const nodes = this.spots.map((spot) => spot.node);
    const edges = this.bundles.flatMap((bundle) => bundle.links.map((link) => link.edge));
    this.spots = [];
    this.show(nodes, edges, this.focus, this.hues);
  }

  /** @param {Spot} spot */
  bringIntoView(spot) {
    const [x, y] = [this.camera.across(spot.x), this.camera.down(spot.y)];
    const inside = x > 20 && x < this.camera.width - 20 && y > 20 && y < this.camera.height - 20;
    if (!inside && this.layout.atRest) this.camera.glide({ ...this.camera.view, x: spot.x, y: spot.y }, this.still ? 0 : GLIDE);
  }

  /** The node at a pixel. @param {number} x @param {number} y @returns {Spot | null} */
  at(x, y) {
    let [best, least] = [/** @type {Spot | null} */ (null), SLACK];
    for (const spot of this.spots) {
      const away = Math.hypot(this.camera.across(spot.x) - x, this.camera.down(spot.y) - y) - radiusOnScreen(this, spot);
      if (away < least) [best, least] = [spot, away];
    }
    return best;
  }

  /** The nearest node in a direction from another one. @param {string} id @param {number} dx @param {number} dy @returns {Spot | null} */
  toward(id, dx, dy) {
    const from = this.spots.find((spot) => spot.node.id === id) ?? this.spots[0];
    let [best, least] = [/** @type {Spot | null} */ (null), Infinity];
    for (const spot of this.spots) {
      const [ahead, aside] = [(spot.x - from.x) * dx + (spot.y - from.y) * dy, Math.abs((spot.x - from.x) * dy - (spot.y - from.y) * dx)];
      const far = ahead + 2 * aside;
      if (spot !== from && ahead > aside / 2 && far < least) [best, least] = [spot, far];
    }
    return best;
  }

  get moving() {
    return !this.layout.atRest;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const first = this.camera.width <= 1;
    [this.camera.width, this.camera.height] = [Math.max(width, 1), Math.max(height, 1)];
    [this.canvas.width, this.canvas.height] = [width, height].map((one) => Math.round(one * devicePixelRatio));
    if (first || this.following) this.camera.glide(this.camera.fitting(this.spots), 0);
    this.paint(); // a canvas that changes its size is empty
  }

  /** Have the next frame drawn. */
  wake() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.turn());
  }

  turn() {
    this.frame = 0;
    const moving = !this.layout.atRest;
    if (moving) {
      this.layout.step(this.still ? STEP_UNSEEN : STEP);
      if (this.following) this.camera.glide(this.camera.fitting(this.spots), 0);
    }
    if (this.layout.atRest && this.fitWhenAtRest) {
      this.fitWhenAtRest = false;
      this.camera.glide(this.camera.fitting(this.spots), this.still || this.following ? 0 : GLIDE);
      this.following = false;
    }
    const gliding = this.camera.follow();
    if (this.layout.atRest || !this.still) this.paint();
    if (!this.layout.atRest || gliding) this.wake();
    this.canvas.dataset.rest = String(this.layout.atRest);
  }

  paint() {
    const brush = this.canvas.getContext("2d");
    if (!brush) return;
    brush.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    draw(brush, this);
  }
}
