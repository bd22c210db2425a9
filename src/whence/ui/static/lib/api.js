// Asking the server. The token comes in the part of the link that no browser sends, and is kept for this origin.

const KEPT = "whence-token";

/** What the server says is wrong, and what to do. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message @param {string} hint @param {number | null} at @param {any} said */
  constructor(status, message, hint = "", at = null, said = null) {
    super(message);
    this.status = status;
    this.hint = hint;
    /** The character of the query that is wrong, from 0. */
    this.at = at;
    /** All that the server said, where it said more. */
    this.said = said;
  }
}

/** Take the token out of the address, so that it is not in the history or in a copied link. */
export function takeToken() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (found) {
    keepToken(found[1]);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return token() !== "";
}

/** @param {string} value */
export function keepToken(value) {
  localStorage.setItem(KEPT, value);
}

function token() {
  return localStorage.getItem(KEPT) ?? "";
}

/** @type {Set<(wrong: boolean) => void>} */
const watching = new Set();

/** Be told when the token is refused. @param {(wrong: boolean) => void} told */
export function onRefused(told) {
  watching.add(told);
  return () => watching.delete(told);
}

/**
 * @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
async function ask(method, path, body, signal) {
  /** @type {Record<string, string>} */
  const headers = { authorization: `Bearer ${token()}` };
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  let text;
  try {
    response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    text = await response.text();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "the server does not answer", "is whence ui still running?");
  }
  if (response.status === 401) {
    for (const told of watching) told(true);
    throw new ApiError(401, "the token is not right", "open the link that whence ui printed");
  }
  let said;
  try {
    said = JSON.parse(text);
  } catch {
    throw new ApiError(response.status, text.trim() || `the server answered ${response.status}`);
  }
  if (!response.ok) throw new ApiError(response.status, said.error ?? `the server answered ${response.status}`, said.hint, said.at ?? null, said);
  return said;
}

/** @param {string} path @param {Record<string, unknown>} [params] @param {AbortSignal} [signal] */
export function get(path, params = {}, signal) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return ask("GET", `/api/${path}${query ? `?${query}` : ""}`, undefined, signal);
}

/** @param {string} path @param {unknown} body @param {AbortSignal} [signal] */
export function post(path, body, signal) {
  return ask("POST", `/api/${path}`, body, signal);
}
