// From the plane on which nodes lie to the pixels of a canvas, and back.

const SMALLEST = 0.08;
const LARGEST = 6;
const MARGIN = 34;

/** @typedef {{x: number, y: number, scale: number}} View */

export class Camera {
  constructor() {
    /** The middle of what is seen. @type {View} */
    this.view = { x: 0, y: 0, scale: 1 };
    this.width = 1;
    this.height = 1;
    /** @type {{from: View, to: View, began: number, takes: number} | null} */
    this.gliding = null;
  }

  /** @param {number} x */
  across(x) {
    return (x - this.view.x) * this.view.scale + this.width / 2;
  }

  /** @param {number} y */
  down(y) {
    return (y - this.view.y) * this.view.scale + this.height / 2;
  }

  /** Move by some pixels. @param {number} dx @param {number} dy */
  pan(dx, dy) {
    this.gliding = null;
    const { x, y, scale } = this.view;
    this.view = { x: x - dx / scale, y: y - dy / scale, scale };
  }

  /** Make larger, with what lies at a pixel staying there. @param {number} factor @param {number} [px] @param {number} [py] */
  zoom(factor, px = this.width / 2, py = this.height / 2) {
    this.gliding = null;
    const { x, y, scale: before } = this.view;
    const scale = Math.max(SMALLEST, Math.min(LARGEST, before * factor));
    const [dx, dy] = [px - this.width / 2, py - this.height / 2];
    this.view = { x: x + dx / before - dx / scale, y: y + dy / before - dy / scale, scale };
  }

  /** The view in which all of some circles are seen. @param {{x: number, y: number, radius: number}[]} spots @returns {View} */
  fitting(spots) {
    if (!spots.length) return { x: 0, y: 0, scale: 1 };
    const left = Math.min(...spots.map((one) => one.x - one.radius));
    const right = Math.max(...spots.map((one) => one.x + one.radius));
    const top = Math.min(...spots.map((one) => one.y - one.radius));
    const bottom = Math.max(...spots.map((one) => one.y + one.radius));
    const room = (/** @type {number} */ all, /** @type {number} */ wanted) => Math.max(all - 2 * MARGIN, all / 2) / Math.max(wanted, 1);
    const scale = Math.max(SMALLEST, Math.min(1.6, room(this.width, right - left), room(this.height, bottom - top)));
    return { x: (left + right) / 2, y: (top + bottom) / 2, scale };
  }

  /** Go to another view, in so many milliseconds. @param {View} to @param {number} takes */
  glide(to, takes) {
    if (takes <= 0) {
      this.gliding = null;
      this.view = to;
    } else this.gliding = { from: this.view, to, began: performance.now(), takes };
  }

  /** Move on along the way; whether there is more of it. */
  follow() {
    if (!this.gliding) return false;
    const { from, to, began, takes } = this.gliding;
    const share = Math.min(1, (performance.now() - began) / takes);
    const eased = 1 - (1 - share) ** 3;
    const between = (/** @type {number} */ one, /** @type {number} */ other) => one + (other - one) * eased;
    this.view = { x: between(from.x, to.x), y: between(from.y, to.y), scale: from.scale * (to.scale / from.scale) ** eased };
    if (share === 1) this.gliding = null;
    return true;
  }
}
