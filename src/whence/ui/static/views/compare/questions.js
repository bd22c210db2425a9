// A list of queries as it is written or loaded: one a line, with the files that answer it where they are known.

/** @typedef {{query: string, answers: string[]}} Question */

/** More than these are not asked in one go. */
export const MOST_QUESTIONS = 2000;
const KEPT = "whence-compare";

/**
 * Each line is `query`, `query => path, path`, a tab instead of the arrow, or JSON with `query` and `answers`.
 * @param {string} text @returns {{questions: Question[], wrong: string}}
 */
export function questionsOf(text) {
  const questions = [];
  for (const [at, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const found = line.trimStart().startsWith("{") ? fromJson(line) : fromText(line);
    if (!found) return { questions: [], wrong: `line ${at + 1} is no query: {"query": "…", "answers": ["path"]}` };
    questions.push(found);
  }
  const wrong = questions.length > MOST_QUESTIONS ? `${questions.length} queries are more than ${MOST_QUESTIONS}` : "";
  return { questions: wrong ? [] : questions, wrong };
}

/** @param {string} line @returns {Question} */
function fromText(line) {
  const [query, answers = ""] = line.includes("\t") ? line.split(/\t+/, 2) : line.split(/\s=>\s/, 2);
  return { query: query.trim(), answers: answers.split(",").map((one) => one.trim()).filter(Boolean) };
}

/** @param {string} line @returns {Question | null} */
function fromJson(line) {
  try {
    const { query, answers = [] } = JSON.parse(line);
    const whole = typeof query === "string" && Array.isArray(answers) && answers.every((one) => typeof one === "string");
    return whole ? { query, answers } : null;
  } catch {
    return null;
  }
}

/** The list that was last worked on in this tab. It is too long for the address. */
export function keptQuestions() {
  return sessionStorage.getItem(KEPT) ?? "";
}

/** @param {string} text */
export function keepQuestions(text) {
  try {
    sessionStorage.setItem(KEPT, text);
  } catch {
    // a list that is too long to be kept can still be asked
  }
}
