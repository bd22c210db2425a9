// What a pointer does to a picture: one drags, two pinch, a wheel zooms, a click chooses, two walk.

/** @typedef {import("./stage.js").Stage} Stage */

/** Pixels that a pointer may move and still be a click. */
const STILL = 4;
const WHEEL = 0.0015;
const LINE = 16;

/** Let pointers and wheels move a stage. @param {HTMLCanvasElement} canvas @param {Stage} stage @returns {() => void} */
export function handsOn(canvas, stage) {
  const pointers = new Pointers(canvas, stage);
  /** @type {[string, (event: any) => void][]} */
  const listening = [
    ["pointerdown", (event) => pointers.down(event)],
    ["pointermove", (event) => pointers.move(event)],
    ["pointerup", (event) => pointers.up(event)],
    ["pointercancel", (event) => pointers.leave(event)],
    ["pointerleave", () => stage.hover(null)],
    ["dblclick", (event) => walk(stage, event)],
    ["wheel", (event) => wheel(stage, event)],
  ];
  for (const [name, told] of listening) canvas.addEventListener(name, told, { passive: false });
  return () => {
    for (const [name, told] of listening) canvas.removeEventListener(name, told);
  };
}

/** @param {Stage} stage @param {MouseEvent} event */
function walk(stage, event) {
  const spot = stage.at(event.offsetX, event.offsetY);
  if (spot) stage.told.walk(spot.node.id);
}

/** @param {Stage} stage @param {WheelEvent} event */
function wheel(stage, event) {
  event.preventDefault();
  const pixels = event.deltaMode === 0 ? event.deltaY : event.deltaY * LINE;
  stage.moveBy((camera) => camera.zoom(Math.exp(-Math.max(-400, Math.min(400, pixels)) * WHEEL), event.offsetX, event.offsetY));
}

class Pointers {
  /** @param {HTMLCanvasElement} canvas @param {Stage} stage */
  constructor(canvas, stage) {
    this.canvas = canvas;
    this.stage = stage;
    /** Where each pointer that is down was last. @type {Map<number, {x: number, y: number}>} */
    this.held = new Map();
    this.moved = 0;
  }

  /** @param {PointerEvent} event */
  down(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    if (!this.held.size) this.moved = 0;
    this.held.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
  }

  /** @param {PointerEvent} event */
  move(event) {
    const before = this.held.get(event.pointerId);
    const now = { x: event.offsetX, y: event.offsetY };
    if (!before) return this.stage.hover(this.stage.at(now.x, now.y));
    this.moved += Math.hypot(now.x - before.x, now.y - before.y);
    const other = [...this.held].find(([id]) => id !== event.pointerId)?.[1];
    this.held.set(event.pointerId, now);
    if (other) this.pinch(before, now, other);
    else if (this.moved > STILL) this.stage.moveBy((camera) => camera.pan(now.x - before.x, now.y - before.y));
  }

  /** @param {{x: number, y: number}} before @param {{x: number, y: number}} now @param {{x: number, y: number}} other */
  pinch(before, now, other) {
    const apart = (/** @type {{x: number, y: number}} */ one) => Math.max(Math.hypot(one.x - other.x, one.y - other.y), 1);
    this.stage.moveBy((camera) => {
      camera.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
      camera.zoom(apart(now) / apart(before), (now.x + other.x) / 2, (now.y + other.y) / 2);
    });
  }

  /** @param {PointerEvent} event */
  up(event) {
    const clicked = this.held.size === 1 && this.held.has(event.pointerId) && this.moved <= STILL;
    this.leave(event);
    const spot = clicked ? this.stage.at(event.offsetX, event.offsetY) : null;
    if (spot) this.stage.told.choose(spot.node.id);
  }

  /** @param {PointerEvent} event */
  leave(event) {
    this.held.delete(event.pointerId);
  }
}
