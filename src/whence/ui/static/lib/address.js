// The address is the state: what is asked stands in it, so that back works and a link can be kept.
import { useEffect, useState } from "./dom.js";

/** @type {Set<() => void>} */
const watching = new Set();
/** The address as the page has it. The browser is told a moment later: it takes only some changes in a second, and a slider makes more. */
let shown = location.pathname + location.search;
let timer = 0;
const MILLISECONDS_BEFORE_TELLING = 100;

function tell() {
  for (const told of watching) told();
}

function flush() {
  clearTimeout(timer);
  if (shown !== location.pathname + location.search) history.replaceState(null, "", shown);
}

addEventListener("popstate", () => {
  clearTimeout(timer);
  shown = location.pathname + location.search;
  tell();
});
addEventListener("pagehide", flush);

/** @typedef {{view: string, params: URLSearchParams}} Address */

/** The address as it is now. @returns {Address} */
export function here() {
  const [view, query = ""] = shown.split("?", 2);
  return { view, params: new URLSearchParams(query) };
}

/** What stands in the address, by name. @returns {Record<string, string>} */
export function given() {
  return Object.fromEntries(here().params);
}

/** The address, and again whenever it changes. @returns {Address} */
export function useAddress() {
  const [now, set] = useState(here);
  useEffect(() => {
    const told = () => set(here());
    watching.add(told);
    return () => void watching.delete(told);
  }, []);
  return now;
}

/** @param {string} view @param {Record<string, string | number | null | undefined>} [params] */
export function linkTo(view, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query ? `${view}?${query}` : view;
}

/** Go to another view. @param {string} link */
export function go(link) {
  if (link === shown) return;
  flush();
  shown = link;
  history.pushState(null, "", link);
  tell();
}

/**
 * Change some of what stands in the address; without a step in the history, for typing is no journey.
 * @param {Record<string, string | number | null | undefined>} changes
 * @param {{step?: boolean}} [how]
 */
export function change(changes, { step = false } = {}) {
  const { view } = here();
  const link = linkTo(view, { ...given(), ...changes });
  if (step) return go(link);
  if (link === shown) return;
  shown = link;
  clearTimeout(timer);
  timer = setTimeout(flush, MILLISECONDS_BEFORE_TELLING);
  tell();
}

/** Links of this page are followed without loading it again. @param {MouseEvent} event */
export function followLink(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const anchor = event.target instanceof Element ? event.target.closest("a") : null;
  if (!anchor || anchor.origin !== location.origin || anchor.target || anchor.hasAttribute("download") || anchor.getAttribute("href")?.startsWith("#")) return;
  event.preventDefault();
  go(anchor.pathname + anchor.search);
}
