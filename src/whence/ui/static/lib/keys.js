// Keys that do something. What is bound is listed by the help, so nothing is bound in secret.
import { useLayoutEffect, useRef } from "./dom.js";

/** @typedef {{key: string, does: string, run: (event: KeyboardEvent) => void, inFields?: boolean, when?: () => boolean}} Binding  only when that holds */

/** The bindings of what is on the page, the last first. @type {Binding[][]} */
const layers = [];

/** Bind keys as long as a component is there. Shift shows in the key itself ("?"). @param {Binding[]} bindings */
export function useKeys(bindings) {
  const held = useRef(bindings);
  held.current.splice(0, Infinity, ...bindings);
  // With what is shown, not a frame later: a key that is pressed at once is meant for it.
  useLayoutEffect(() => {
    const mine = held.current;
    layers.unshift(mine);
    return () => void layers.splice(layers.indexOf(mine), 1);
  }, []);
}

/** All that is bound now, each key once: what is bound last wins. @returns {Binding[]} */
export function bound() {
  /** @type {Map<string, Binding>} */
  const found = new Map();
  for (const layer of layers) for (const one of layer) if (!found.has(one.key)) found.set(one.key, one);
  return [...found.values()];
}

/** Whether something takes what is typed. @param {EventTarget | null} target */
export function isField(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]")) return; // what lies over the page has its own keys
  const field = isField(event.target);
  // A button or a link that has the focus keeps its own keys.
  const ownKey = (event.key === "Enter" || event.key === " ") && event.target instanceof Element && event.target.closest("button, a, summary, [role=slider]");
  if (ownKey) return;
  for (const one of layers.flat()) {
    if (one.key !== event.key || (field && !one.inFields) || (one.when && !one.when())) continue;
    event.preventDefault();
    one.run(event);
    return;
  }
});
