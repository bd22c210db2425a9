// What notes are on the page, and how they are asked for.
import { get, post } from "../../lib/api.js";

/** @typedef {import("../../lib/parts.js").CodeLine} CodeLine */
/** @typedef {{signal: string, operation: string, value: number, weight: number, contribution: number, because: string}} LedgerLine */
/** @typedef {{code: string, repository: string, root: string, state: string}} Code */
/** @typedef {{sign: string, then: number | null, now: number | null, text: string}} DiffLine */
/** @typedef {Code & {said: string, commit: string, time: number, lines: DiffLine[]}} Past */
/** @typedef {{number: number, updated: string | null, text: string, changed: string[], lines: DiffLine[]}} Version */
/** @typedef {{key: string, root: string, state: string, headline: string, topic: string, project: string, kind: string, tags: string[], source: string, created: string | null, updated: string | null, valid_from: string | null, valid_until: string | null, archived: string | null, day: string, trouble: string}} Facts */
/** @typedef {Facts & {lines: CodeLine[], more_lines: number, changed: string, score: number | null, label: string, why: LedgerLine[], alike: string[]}} Brief */
/** @typedef {Facts & {text: string, seen: string, about: Code[], hidden: string[], warning: string, versions: Version[]}} Note */
/** @typedef {{day: string, project: string, fresh: number, stale: number, archived: number}} Day */
/** @typedef {{notes: Brief[], total: number, every: number, counts: Record<string, Record<string, number>>, days: Day[], said: string[], directories: string[]}} Listing */

export const KINDS = ["durable", "session", "handoff", "resource", "skill", "pack", "summary"];
/** In place of a project: notes that belong to none. */
export const NO_PROJECT = "-";

/** As many notes as are listed at most. */
export const MOST_NOTES = 500;

/** What tells a note from all others: two folders of notes may hold the same key. @param {{root: string, key: string}} note */
export function idOf({ root, key }) {
  return `${root}:${key}`;
}

/** @param {string} key @param {string} [action] */
function pathOf(key, action = "") {
  return ["notes", ...key.split("/").map(encodeURIComponent), action].filter(Boolean).join("/");
}

/** @param {{key: string, root: string}} asked @param {AbortSignal} signal @returns {Promise<Note>} */
export function read({ key, root }, signal) {
  return get(pathOf(key), { root }, signal);
}

/** @param {{key: string, root: string}} asked @param {AbortSignal} signal @returns {Promise<{key: string, code: Past[]}>} */
export function readPast({ key, root }, signal) {
  return get(pathOf(key, "code"), { root }, signal);
}

/** Change a note as it was seen. @param {Note} note @param {string} action @param {Record<string, unknown>} [fields] */
export function change(note, action, fields = {}) {
  return post(pathOf(note.key, action), { root: note.root, expected: note.seen, ...fields });
}

/** A day or a time, as far as it matters. @param {string | null} moment */
export function day(moment) {
  return moment ? moment.slice(0, 10) : "";
}

/** @param {string} moment */
export function minute(moment) {
  return moment.slice(0, 16).replace("T", " ");
}
