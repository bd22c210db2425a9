// What is to be drawn, and what of it is on the screen.

/** @typedef {import("./layout.js").Spot} Spot */
/**
 * @typedef {object} Scene
 * @property {Spot[]} spots
 * @property {import("./drawing.js").Bundle[]} bundles
 * @property {import("./camera.js").Camera} camera
 * @property {import("./colours.js").Colours} colours
 * @property {Map<string, number>} hues  by folder
 * @property {string} focus
 * @property {string} chosen
 * @property {string} hovered
 * @property {boolean} moving  whether nodes are still on their way
 */

const LEAST_RADIUS = 2;

/** The radius of a node on the screen. @param {Scene} scene @param {Spot} spot */
export function radiusOnScreen({ camera }, spot) {
  return Math.max(LEAST_RADIUS, spot.radius * Math.min(camera.view.scale, 2));
}

/** Whether any of a node is on the screen. @param {Scene} scene @param {Spot} spot */
export function seen(scene, spot) {
  const { camera } = scene;
  const [x, y, radius] = [camera.across(spot.x), camera.down(spot.y), radiusOnScreen(scene, spot)];
  return x > -radius && x < camera.width + radius && y > -radius && y < camera.height + radius;
}
