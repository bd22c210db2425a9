// Two weightings side by side over a list of queries, measured where the answers are known.
import { change } from "../lib/address.js";
import { html, useEffect, useRef, useState } from "../lib/dom.js";
import { useKeys } from "../lib/keys.js";
import { counted, Progress, Wrong } from "../lib/parts.js";
import { Picture } from "./compare/picture.js";
import { keepQuestions, keptQuestions, questionsOf } from "./compare/questions.js";
import { summed, useRun } from "./compare/running.js";
import { SideEditor } from "./compare/side.js";
import { signed, Table } from "./compare/table.js";
import { factorsOf } from "./search/weights.js";

/** @typedef {import("./compare/running.js").Compared} Compared */
/** @typedef {import("./compare/running.js").Task} Task */
/** @typedef {import("./compare/questions.js").Question} Question */

const EXAMPLE = "where are retries configured => src/client/retry.py\nopen a session\n…";

/** @param {import("../app.js").ViewProps} props */
export function CompareView({ root, params }) {
  const [text, setText] = useState(() => begun(params.get("q") ?? ""));
  const { questions, wrong } = questionsOf(text);
  const a = { profile: params.get("pa") || null, factors: factorsOf(params.get("wa") ?? "") };
  const b = { profile: params.get("pb") || null, factors: factorsOf(params.get("wb") ?? "") };
  const run = useRun();
  const write = (/** @type {string} */ next) => {
    setText(next);
    keepQuestions(next);
  };
  const begin = () => {
    change({ row: null });
    if (questions.length) run.start({ root, a, b, questions });
  };
  useKeys([
    { key: "r", does: "compare", run: begin },
    { key: "e", does: "edit the queries", run: () => document.getElementById("queries")?.focus() },
  ]);
  const stale = run.task !== null && !run.running && JSON.stringify(run.task) !== JSON.stringify({ root, a, b, questions });
  const opened = Number(params.get("row")) || 0;
  return html`<main class="compare">
    <h1>Compare two weightings</h1>
    <div class="asked">
      <${Queries} text=${text} write=${write} wrong=${wrong} count=${questions.length} />
      <div class="sides"><${SideEditor} name="a" side=${a} root=${root} /><${SideEditor} name="b" side=${b} root=${root} /></div>
    </div>
    <p class="row start">
      <button class="main" disabled=${!questions.length} onClick=${begin}>Compare ${counted(questions.length, "query", "queries")}</button>
      ${run.running && html`<button onClick=${run.stop}>Stop</button><${Progress} label="ranking" share=${run.rows.length / (run.task?.questions.length || 1)} />`}
      ${stale && html`<span class="warning">Changed since; compare again.</span>`}
    </p>
    <${Wrong} error=${run.error} />
    ${run.task && run.rows.length > 0 && html`<${Outcome} rows=${run.rows} task=${run.task} opened=${opened} />`}
  </main>`;
}

/** The list of this tab, with a query that was brought along. @param {string} brought */
function begun(brought) {
  const kept = keptQuestions();
  return !brought || questionsOf(kept).questions.some((one) => one.query === brought) ? kept : [brought, kept].filter(Boolean).join("\n");
}

/** @param {{text: string, write: (text: string) => void, wrong: string, count: number}} props */
function Queries({ text, write, wrong, count }) {
  const file = useRef(/** @type {HTMLInputElement | null} */ (null));
  const load = async () => {
    const chosen = file.current?.files?.[0];
    if (chosen) write(await chosen.text());
  };
  return html`<section class="queries">
    <label for="queries">Queries, one a line; after <code>=></code> or a tab the files that answer it, where you know them</label>
    <textarea id="queries" rows="9" spellcheck=${false} value=${text} placeholder=${EXAMPLE} aria-invalid=${wrong ? "true" : undefined} aria-describedby="queries-said"
      onInput=${(/** @type {Event & {currentTarget: HTMLTextAreaElement}} */ event) => write(event.currentTarget.value)}></textarea>
    <p id="queries-said" class=${wrong ? "wrong" : "dim"} role="status">${wrong || counted(count, "query", "queries")}</p>
    <label class="load">Load a file <span class="dim">(the same lines, or JSON lines with query and answers)</span>
      <input type="file" ref=${file} accept=".txt,.tsv,.jsonl,.json,text/plain" onChange=${load} /></label>
  </section>`;
}

/** @param {{rows: Compared[], task: Task, opened: number}} props */
function Outcome({ rows, task, opened }) {
  const sum = summed(rows);
  const open = (/** @type {number} */ at) => change({ row: at + 1 }, { step: true });
  return html`<section aria-label="Outcome">
    <div class="summary">
      ${sum.a !== null &&
      sum.b !== null &&
      html`<p class="figure"><span class="badge a">A</span> <strong>${sum.a.toFixed(3)}</strong></p>
        <p class="figure"><span class="badge b">B</span> <strong>${sum.b.toFixed(3)}</strong> <span class=${sum.b < sum.a ? "wrong" : "good"}>${signed(sum.b - sum.a)}</span></p>
        <p>mean NDCG@10 of ${counted(sum.judged, "query", "queries")} with answers: B is better for <strong>${sum.better}</strong>, worse for <strong>${sum.worse}</strong>, equal for <strong>${sum.equal}</strong></p>`}
      <p class="dim">the first ten differ for ${sum.moved} of ${rows.length}</p>
      <${Download} rows=${rows} task=${task} summary=${sum} />
    </div>
    <${Picture} rows=${rows} open=${open} />
    <${Table} rows=${rows} task=${task} opened=${opened ? opened - 1 : null} />
  </section>`;
}

/** @param {{rows: Compared[], task: Task, summary: ReturnType<typeof summed>}} props */
function Download({ rows, task, summary }) {
  const [link, setLink] = useState("");
  useEffect(() => {
    const asked = rows.map((row, at) => ({ ...row, answers: task.questions[at]?.answers ?? [] }));
    const whole = { root: task.root, a: task.a, b: task.b, summary, queries: asked };
    const made = URL.createObjectURL(new Blob([JSON.stringify(whole, null, 1)], { type: "application/json" }));
    setLink(made);
    return () => URL.revokeObjectURL(made);
  }, [rows]);
  return link && html`<p><a href=${link} download="whence-compare.json">Download as JSON</a></p>`;
}
