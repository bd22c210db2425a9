// Questions that follow one another quickly: the last is asked when the one before is answered.
import { useEffect, useRef, useState } from "./dom.js";

/**
 * What a question is answered with. While one is under way only the latest other waits, so that typing never
 * piles up; what was answered stays on the page until the next answer is there.
 *
 * @template Q, A
 * @param {Q | null} question  null asks nothing; asked again whenever its JSON changes
 * @param {(question: Q, signal: AbortSignal) => Promise<A>} ask
 * @param {unknown} [again]  asked again when this changes, too
 * @returns {{answer: A | null, of: Q | null, error: unknown, busy: boolean}}
 */
export function useAnswer(question, ask, again = 0) {
  const [state, set] = useState(/** @type {{answer: A | null, of: Q | null, error: unknown, busy: boolean}} */ ({ answer: null, of: null, error: null, busy: false }));
  const running = useRef(/** @type {AbortController | null} */ (null));
  const waiting = useRef(/** @type {{question: Q} | null} */ (null));
  const latest = useRef(ask);
  latest.current = ask;
  const key = question === null ? null : JSON.stringify([question, again]);

  useEffect(() => {
    if (question === null) {
      running.current?.abort();
      running.current = waiting.current = null;
      set({ answer: null, of: null, error: null, busy: false });
      return;
    }
    waiting.current = { question };
    if (!running.current) void next();
  }, [key]);
  useEffect(() => () => running.current?.abort(), []);

  async function next() {
    while (waiting.current) {
      const { question: asked } = waiting.current;
      const controller = (running.current = new AbortController());
      waiting.current = null;
      set((before) => ({ ...before, busy: true }));
      try {
        const answer = await latest.current(asked, controller.signal);
        if (running.current === controller) set({ answer, of: asked, error: null, busy: false });
      } catch (error) {
        if (running.current === controller) set((before) => ({ ...before, of: asked, error, busy: false }));
      }
      if (running.current !== controller) return;
      running.current = null;
    }
  }
  return state;
}
