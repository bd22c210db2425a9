// What a pack is asked for: a task in words, files, or a change; and within how many tokens.
import { change } from "../../lib/address.js";
import { html, useEffect, useRef, useState } from "../../lib/dom.js";
import { Tabs } from "./tabs.js";
import { tokensOf } from "./words.js";

/** @typedef {{by: string, task: string, files: string, diff: string, profile: string, budget: number | null, given: number}} Written */

const WAYS = [
  { id: "task", name: "Task" },
  { id: "files", name: "Files" },
  { id: "diff", name: "Change" },
];
/** So long after the last key what was typed is asked, in milliseconds. */
const PAUSE = 400;
const LEAST = 500;
const MOST = 200_000;
const STEPS = 100;

/** A budget at a step of the slider: each step is the same share more, in round numbers. @param {number} step */
export function budgetAt(step) {
  const exact = LEAST * (MOST / LEAST) ** (step / STEPS);
  const unit = 10 ** (Math.floor(Math.log10(exact)) - 1);
  return Math.round(exact / unit) * unit;
}

/** The step nearest to a budget. @param {number} budget */
export function stepOf(budget) {
  const exact = (STEPS * Math.log(Math.max(budget, 1) / LEAST)) / Math.log(MOST / LEAST);
  return Math.min(STEPS, Math.max(0, Math.round(exact)));
}

/** The budget some steps up or down. @param {number} budget @param {number} by */
export function budgetBy(budget, by) {
  return budgetAt(Math.min(STEPS, Math.max(0, stepOf(budget) + by)));
}

/**
 * What is being typed, told when the typing pauses; it follows the address where that changes by itself.
 * @param {string} value @param {(text: string) => void} tell
 * @returns {[string, (text: string) => void, () => void]}  the draft, a change of it, and to tell it now
 */
function useDraft(value, tell) {
  const [draft, set] = useState(value);
  const told = useRef(value);
  const now = (/** @type {string} */ text) => {
    told.current = text;
    tell(text);
  };
  useEffect(() => {
    if (value !== told.current) set((told.current = value));
  }, [value]);
  useEffect(() => {
    if (draft === told.current) return;
    const timer = setTimeout(() => now(draft), PAUSE);
    return () => clearTimeout(timer);
  }, [draft]);
  return [draft, set, () => now(draft)];
}

/** @param {{written: Written, setTask: (task: string) => void, children?: unknown}} props */
export function Asking({ written, setTask, children }) {
  const { by } = written;
  return html`<section class="asking" aria-label="What is asked for">
    <${Tabs} label="Asked by" tabs=${WAYS} chosen=${by} choose=${(/** @type {string} */ id) => change({ by: id === "task" ? null : id }, { step: true })} panel="asked" />
    <div id="asked" role="tabpanel" aria-label=${WAYS.find((one) => one.id === by)?.name}>
      ${by === "files"
        ? html`<${Field} key="files" rows=${3} label="Files or folders, one on each line" placeholder="src/shop/session.py" value=${written.files} tell=${(/** @type {string} */ files) => change({ files })} />`
        : by === "diff"
          ? html`<${Field} key="diff" rows=${1} label="What has changed since this commit or branch" placeholder="HEAD" value=${written.diff} tell=${(/** @type {string} */ diff) => change({ diff })} />`
          : html`<${Field} key="task" rows=${2} label="Task" placeholder="add retry to the http client" value=${written.task} tell=${setTask} />`}
    </div>
    <div class="row">
      <${Budget} budget=${written.budget} given=${written.given} />
      ${by === "task" &&
      html`<label>Ranking
        <select value=${written.profile} onChange=${(/** @type {Event & {currentTarget: HTMLSelectElement}} */ event) => change({ profile: event.currentTarget.value })}>
          <option value="">as set</option><option value="default">default</option><option value="classic">classic</option>
        </select></label>`}
    </div>
    ${children}
  </section>`;
}

/** @param {{label: string, rows: number, placeholder: string, value: string, tell: (text: string) => void}} props */
function Field({ label, rows, placeholder, value, tell }) {
  const [draft, set, now] = useDraft(value, tell);
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => {
    if (!value) field.current?.focus();
  }, []);
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey || rows === 1)) {
      event.preventDefault();
      now();
    }
  };
  return html`<div class="row field">
    <label class="grow">${label}
      <textarea
        id="asked-text"
        ref=${field}
        rows=${rows}
        placeholder=${placeholder}
        value=${draft}
        spellcheck=${false}
        onKeyDown=${onKeyDown}
        onInput=${(/** @type {InputEvent & {currentTarget: HTMLTextAreaElement}} */ event) => set(event.currentTarget.value)}
      ></textarea>
    </label>
    <button class="main" onClick=${now} title="Ctrl+Enter">Pack</button>
  </div>`;
}

/** @param {{budget: number | null, given: number}} props */
function Budget({ budget, given }) {
  const shown = budget ?? given;
  const set = (/** @type {number} */ value) => value > 0 && change({ budget: value });
  return html`<div class="budget grow" role="group" aria-label="Budget">
    <label class="grow">Budget
      <input
        type="range"
        min="0"
        max=${STEPS}
        value=${stepOf(shown)}
        aria-valuetext=${`${tokensOf(shown)} tokens`}
        onInput=${(/** @type {InputEvent & {currentTarget: HTMLInputElement}} */ event) => set(budgetAt(Number(event.currentTarget.value)))}
      /></label>
    <label>Tokens
      <input
        type="number"
        min="1"
        max="10000000"
        value=${shown}
        onChange=${(/** @type {Event & {currentTarget: HTMLInputElement}} */ event) => set(Math.round(Number(event.currentTarget.value)))}
      /></label>
  </div>`;
}
