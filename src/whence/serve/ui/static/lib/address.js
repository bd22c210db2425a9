// The address is the state: what is asked stands in it, so that back works and a link can be kept.
import { useEffect, useState } from "./dom.js";

/** @type {Set<() => void>} */
const watching = new Set();

function tell() {
  for (const told of watching) told();
}
addEventListener("popstate", tell);

/** @typedef {{view: string, params: URLSearchParams}} Address */

/** @returns {Address} */
function here() {
  return { view: location.pathname, params: new URLSearchParams(location.search) };
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
  if (link === location.pathname + location.search) return;
  history.pushState(null, "", link);
  tell();
}

/**
 * Change some of what stands in the address, without a step in the history (typing is no journey).
 * @param {Record<string, string | number | null | undefined>} changes
 * @param {{step?: boolean}} [how]
 */
export function change(changes, { step = false } = {}) {
  const params = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") params.delete(name);
    else params.set(name, String(value));
  }
  const query = params.toString();
  const link = query ? `${location.pathname}?${query}` : location.pathname;
  if (link === location.pathname + location.search) return;
  if (step) history.pushState(null, "", link);
  else history.replaceState(null, "", link);
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
