// Names beside nodes: those that matter most, and none over another.
import { radiusOnScreen, seen } from "./scene.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./layout.js").Spot} Spot */

const FONT = '12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
const BOLD = `600 ${FONT}`;
const HEIGHT = 15;
const MOST = 70;
/** @type {Map<string, number>} */
const widths = new Map();

/** How wide a text is; texts come again with every frame. @param {CanvasRenderingContext2D} brush @param {string} text @param {string} font */
function widthOf(brush, text, font) {
  const key = font + text;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 5000) widths.clear();
    brush.font = font;
    width = brush.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

/** @param {CanvasRenderingContext2D} brush @param {Scene} scene */
export function drawLabels(brush, scene) {
  /** @type {[number, number, number, number][]} */
  const taken = [];
  brush.textAlign = "center";
  brush.textBaseline = "middle";
  for (const spot of byImportance(scene)) {
    if (taken.length >= MOST) break;
    if (!seen(scene, spot)) continue;
    const meant = spot.node.id === scene.chosen || spot.node.id === scene.focus || spot.node.id === scene.hovered;
    const font = meant ? BOLD : FONT;
    const half = widthOf(brush, spot.node.label, font) / 2 + 3;
    const place = freePlace(scene, spot, half, taken, meant);
    if (!place) continue;
    taken.push([place.x - half, place.y - HEIGHT / 2, place.x + half, place.y + HEIGHT / 2]);
    brush.globalAlpha = 0.78;
    brush.fillStyle = scene.colours.ground;
    brush.fillRect(place.x - half, place.y - HEIGHT / 2, 2 * half, HEIGHT);
    brush.globalAlpha = 1;
    brush.font = font;
    brush.fillStyle = spot.node.dim && !meant ? scene.colours.dim : scene.colours.ink;
    brush.fillText(spot.node.label, place.x, place.y);
  }
}

/** What is meant first, then the largest. @param {Scene} scene */
function byImportance({ spots, chosen, hovered, focus }) {
  const rank = (/** @type {Spot} */ { node, radius }) => (node.id === hovered ? 4000 : node.id === chosen ? 3000 : node.id === focus ? 2000 : radius - (node.dim ? 100 : 0));
  return [...spots].sort((one, other) => rank(other) - rank(one));
}

/**
 * Below a node, or above it, where no other name is.
 * @param {Scene} scene @param {Spot} spot @param {number} half @param {[number, number, number, number][]} taken @param {boolean} needed
 */
function freePlace(scene, spot, half, taken, needed) {
  const x = scene.camera.across(spot.x);
  const middle = scene.camera.down(spot.y);
  const away = radiusOnScreen(scene, spot) + HEIGHT / 2 + (needed ? 7 : 2);
  const free = (/** @type {number} */ y) =>
    !taken.some(([left, top, right, bottom]) => x - half < right && x + half > left && y - HEIGHT / 2 < bottom && y + HEIGHT / 2 > top);
  const y = [middle + away, middle - away].find(free);
  return y !== undefined ? { x, y } : null;
}
