// Drawing a picture: lines of one look in one stroke, and nothing that is not seen.
import { DASHES, GROUPS, lineKey, OTHERS, styleOf } from "./colours.js";
import { drawLabels } from "./labels.js";
import { radiusOnScreen, seen } from "./scene.js";

/** @typedef {import("./layout.js").Spot} Spot */
/** @typedef {import("./layout.js").Link} Link */
/** @typedef {{style: string, sure: boolean, links: Link[]}} Bundle  lines of one look */
/** @typedef {import("./scene.js").Scene} Scene */

/** @typedef {{x: number, y: number, toX: number, toY: number, ux: number, uy: number, length: number}} Line  on the screen, and where it points */

/** From this weight on a line is drawn in full. */
const SURE = 0.5;
const BETWEEN_LANES = 4;
const HEAD = 6;
/** Lines that are shorter than this have no room for a head. */
const LEAST_WITH_HEAD = 12;

/** Lines by their look. @param {Link[]} links @returns {Bundle[]} */
export function bundlesOf(links) {
  const looks = GROUPS.flatMap((style) => [false, true].map((sure) => ({ style, sure })));
  return looks
    .map(({ style, sure }) => ({ style, sure, links: links.filter(({ edge }) => styleOf(edge.group) === style && edge.weight >= SURE === sure) }))
    .filter((bundle) => bundle.links.length > 0);
}

/** @param {CanvasRenderingContext2D} brush @param {Scene} scene */
export function draw(brush, scene) {
  const { camera } = scene;
  brush.clearRect(0, 0, camera.width, camera.height);
  const lit = scene.hovered || scene.chosen;
  const touches = (/** @type {Link} */ link) => link.source.node.id === lit || link.target.node.id === lit;
  for (const bundle of scene.bundles) drawThin(brush, scene, bundle, lit ? bundle.links.filter((link) => !touches(link)) : bundle.links, lit ? "faint" : "plain");
  if (lit) for (const bundle of scene.bundles) drawThick(brush, scene, bundle, bundle.links.filter(touches));
  for (const spot of scene.spots) if (seen(scene, spot)) drawNode(brush, scene, spot);
  drawRings(brush, scene);
  if (!scene.moving) drawLabels(brush, scene);
}

/**
 * Lines of one look as one path, as thin as a pixel of the screen: that is drawn far quicker than any other width.
 * @param {CanvasRenderingContext2D} brush @param {Scene} scene @param {Bundle} bundle @param {Link[]} links @param {import("./colours.js").Strength} strength
 */
function drawThin(brush, scene, { style, sure }, links, strength) {
  const lines = links.map((link) => lineOf(scene, link)).filter((line) => line !== null);
  if (!lines.length) return;
  brush.strokeStyle = brush.fillStyle = scene.colours.lines.get(lineKey(style, strength, sure)) ?? "";
  brush.lineWidth = 1 / devicePixelRatio;
  brush.setLineDash(DASHES[style]);
  brush.beginPath();
  for (const line of lines) addLine(brush, line);
  brush.stroke();
  brush.setLineDash([]);
  for (const line of lines) drawHead(brush, line);
}

/** Lines that are lit: they are few, and each by itself is quicker than a thick path of all. @param {CanvasRenderingContext2D} brush @param {Scene} scene @param {Bundle} bundle @param {Link[]} links */
function drawThick(brush, scene, { style, sure }, links) {
  brush.strokeStyle = brush.fillStyle = scene.colours.lines.get(lineKey(style, "strong", sure)) ?? "";
  brush.lineWidth = sure ? 1.8 : 1;
  brush.setLineDash(DASHES[style]);
  const lines = links.map((link) => lineOf(scene, link)).filter((line) => line !== null);
  for (const line of lines) {
    brush.beginPath();
    addLine(brush, line);
    brush.stroke();
    drawHead(brush, line);
  }
  brush.setLineDash([]);
}

/** @param {CanvasRenderingContext2D} brush @param {Line} line */
function addLine(brush, { x, y, toX, toY }) {
  brush.moveTo(x, y);
  brush.lineTo(toX, toY);
}

/** Heads are filled one by one: a path of many takes four times as long. @param {CanvasRenderingContext2D} brush @param {Line} line */
function drawHead(brush, { toX, toY, ux, uy, length }) {
  if (length < LEAST_WITH_HEAD) return;
  brush.beginPath();
  brush.moveTo(toX, toY);
  brush.lineTo(toX - ux * HEAD - uy * HEAD * 0.45, toY - uy * HEAD + ux * HEAD * 0.45);
  brush.lineTo(toX - ux * HEAD + uy * HEAD * 0.45, toY - uy * HEAD - ux * HEAD * 0.45);
  brush.fill();
}

/**
 * Where a line begins and ends on the screen, from rim to rim; nothing where it is not seen.
 * @param {Scene} scene @param {Link} link @returns {Line | null}
 */
function lineOf(scene, { source, target, lane }) {
  const { camera } = scene;
  let [x, y] = [camera.across(source.x), camera.down(source.y)];
  let [toX, toY] = [camera.across(target.x), camera.down(target.y)];
  if (Math.max(x, toX) < 0 || Math.min(x, toX) > camera.width || Math.max(y, toY) < 0 || Math.min(y, toY) > camera.height) return null;
  const whole = Math.hypot(toX - x, toY - y);
  const [begin, end] = [radiusOnScreen(scene, source), radiusOnScreen(scene, target) + 2];
  const length = whole - begin - end;
  if (length <= 0) return null;
  const [ux, uy] = [(toX - x) / whole, (toY - y) / whole];
  const aside = lane * BETWEEN_LANES;
  x += ux * begin - uy * aside;
  y += uy * begin + ux * aside;
  toX -= ux * end + uy * aside;
  toY -= uy * end - ux * aside;
  return { x, y, toX, toY, ux, uy, length };
}

/** A node with a rim of the ground, which sets it off lines and other nodes. @param {CanvasRenderingContext2D} brush @param {Scene} scene @param {Spot} spot */
function drawNode(brush, scene, spot) {
  const { camera, colours } = scene;
  const [x, y, radius] = [camera.across(spot.x), camera.down(spot.y), radiusOnScreen(scene, spot)];
  const hue = scene.hues.get(spot.node.folder) ?? OTHERS;
  brush.beginPath();
  addShape(brush, spot, x, y, radius + 1);
  brush.fillStyle = colours.ground;
  brush.fill();
  brush.beginPath();
  addShape(brush, spot, x, y, radius);
  brush.fillStyle = (spot.node.dim ? colours.faded : colours.hues)[hue];
  brush.fill();
}

/** Rings around what is meant: where one stands, what is chosen, what the pointer is over. @param {CanvasRenderingContext2D} brush @param {Scene} scene */
function drawRings(brush, scene) {
  const { camera, colours } = scene;
  for (const spot of scene.spots) {
    const { id } = spot.node;
    if (id !== scene.focus && id !== scene.chosen && id !== scene.hovered) continue;
    const [x, y, radius] = [camera.across(spot.x), camera.down(spot.y), radiusOnScreen(scene, spot)];
    brush.lineWidth = 2;
    if (id === scene.focus) {
      brush.beginPath();
      addShape(brush, spot, x, y, radius + 3);
      brush.strokeStyle = colours.ink;
      brush.stroke();
    }
    if (id === scene.chosen || id === scene.hovered) {
      brush.beginPath();
      addShape(brush, spot, x, y, radius + 6);
      brush.strokeStyle = colours.accent;
      brush.lineWidth = id === scene.chosen ? 3 : 1.5;
      brush.stroke();
    }
  }
}

/** @param {CanvasRenderingContext2D} brush @param {Spot} spot @param {number} x @param {number} y @param {number} radius */
function addShape(brush, spot, x, y, radius) {
  if (spot.node.shape === "square") brush.rect(x - radius * 0.9, y - radius * 0.9, radius * 1.8, radius * 1.8);
  else brush.arc(x, y, radius, 0, 2 * Math.PI);
}
