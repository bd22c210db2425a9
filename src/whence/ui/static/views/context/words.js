// What the pack view says of symbols and of tokens.

/** @typedef {"body" | "excerpt" | "signature" | "pointer" | "inside" | "left_out" | "beyond"} Form */
/** @typedef {{key: string, qualified_name: string, kind: string, path: string, start_line: number, end_line: number, rank: number, score: number, walk: number, found_by: string[], form: Form, tokens: number, uncut_tokens: number | null, holder: string, warning: string}} PackedSymbol */
/** @typedef {{ranked: number, looked_at: number, body: number, excerpt: number, signature: number, pointer: number, inside: number, left_out: number, beyond: number}} Counts */
/** @typedef {{source: string, target: string, group: string, weight: number}} Joint */
/** @typedef {{asked: string, budget: number, tokens: number, frame_tokens: number, missing_tokens: number, text: string, symbols: PackedSymbol[], counts: Counts, edges: Joint[]}} Pack */
/** @typedef {{task: string, files: string[], diff: string | null, profile: string | null, root: string}} Wanted */

/** How much of a symbol is shown, in words. @type {Record<Form, string>} */
export const FORMS = {
  body: "full source",
  excerpt: "excerpt",
  signature: "signature",
  pointer: "name only",
  inside: "inside another",
  left_out: "left out",
  beyond: "not looked at",
};

/** @param {number} tokens */
export function tokensOf(tokens) {
  return Math.ceil(tokens).toLocaleString("en");
}

/** Whether some of a symbol is in the text. @param {PackedSymbol} symbol */
export function isShown({ form }) {
  return form !== "left_out" && form !== "beyond";
}

/** The name in a key. @param {string} key */
export function nameIn(key) {
  return key.slice(key.indexOf("#") + 1);
}

/** Why a symbol is not in the text. @param {PackedSymbol} symbol @param {Counts} counts */
export function whyLeftOut({ form, holder, uncut_tokens }, counts) {
  if (form === "beyond") return `ranked below the first ${counts.looked_at}; no more are looked at`;
  if (holder) return `did not fit; it would stand in the source of ${nameIn(holder)}`;
  return `did not fit; in full it takes ${tokensOf(uncut_tokens ?? 0)} tokens`;
}
