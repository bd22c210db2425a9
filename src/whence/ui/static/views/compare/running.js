// Asking a list a few queries at a time, so that it shows how far it is and can be stopped.
import { post } from "../../lib/api.js";
import { useEffect, useRef, useState } from "../../lib/dom.js";

/** @typedef {import("./questions.js").Question} Question */
/** @typedef {{profile: string | null, factors: Record<string, number>}} Side */
/** @typedef {{path: string, score: number, answers: boolean}} Placed */
/** @typedef {{files: Placed[], ndcg: number | null}} Ranking */
/** @typedef {{query: string, a: Ranking | null, b: Ranking | null, first_difference: number | null, unknown: string[], trouble: string}} Compared */
/** @typedef {{root: string, a: Side, b: Side, questions: Question[]}} Task */
/** @typedef {{task: Task | null, rows: Compared[], running: boolean, error: unknown}} Run */

const AT_ONCE = 5;
const PLACES = 10;

/** @returns {Run & {start: (task: Task) => void, stop: () => void}} */
export function useRun() {
  const [run, set] = useState(/** @type {Run} */ ({ task: null, rows: [], running: false, error: null }));
  const under = useRef(/** @type {AbortController | null} */ (null));
  const stop = () => {
    under.current?.abort();
    set((before) => ({ ...before, running: false }));
  };
  const start = async (/** @type {Task} */ task) => {
    under.current?.abort();
    const mine = (under.current = new AbortController());
    const tell = (/** @type {Partial<Run>} */ news) => mine.signal.aborted || set((before) => ({ ...before, ...news }));
    tell({ task, rows: [], running: true, error: null });
    try {
      for (let at = 0; at < task.questions.length && !mine.signal.aborted; at += AT_ONCE) {
        const queries = task.questions.slice(at, at + AT_ONCE);
        const answer = await post("compare", { root: task.root, a: task.a, b: task.b, k: PLACES, queries }, mine.signal);
        if (!mine.signal.aborted) set((before) => ({ ...before, rows: [...before.rows, ...answer.queries] }));
      }
      tell({ running: false });
    } catch (error) {
      tell({ running: false, error });
    }
  };
  useEffect(() => () => under.current?.abort(), []);
  return { ...run, start, stop };
}

/** @param {Compared} row */
export function differenceOf(row) {
  const [a, b] = [row.a?.ndcg, row.b?.ndcg];
  return typeof a === "number" && typeof b === "number" ? b - a : null;
}

/** Differences below this are the noise of floating point. */
const EQUAL = 1e-9;

/** What came out, in numbers. @param {Compared[]} rows */
export function summed(rows) {
  const judged = rows.filter((one) => differenceOf(one) !== null);
  const mean = (/** @type {"a" | "b"} */ side) => judged.reduce((sum, one) => sum + (one[side]?.ndcg ?? 0), 0) / judged.length;
  const by = judged.map((one) => differenceOf(one) ?? 0);
  return {
    judged: judged.length,
    a: judged.length ? mean("a") : null,
    b: judged.length ? mean("b") : null,
    better: by.filter((one) => one > EQUAL).length,
    worse: by.filter((one) => one < -EQUAL).length,
    equal: by.filter((one) => Math.abs(one) <= EQUAL).length,
    moved: rows.filter((one) => one.first_difference !== null).length,
  };
}
