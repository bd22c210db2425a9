// Notes: recalled or listed, on a line of time, each with its state; mended, merged and let go.
import { change, here, linkTo } from "../lib/address.js";
import { get } from "../lib/api.js";
import { useAnswer } from "../lib/asking.js";
import { html, useEffect, useState } from "../lib/dom.js";
import { useKeys } from "../lib/keys.js";
import { counted, useNarrow, Wrong } from "../lib/parts.js";
import { NewForm } from "./memory/edit.js";
import { Filters } from "./memory/filters.js";
import { NoteList } from "./memory/list.js";
import { MergePanel } from "./memory/merge.js";
import { NotePanel } from "./memory/note.js";
import { Timeline } from "./memory/timeline.js";

/** @typedef {import("./memory/notes.js").Brief} Brief */
/** @typedef {import("./memory/notes.js").Listing} Listing */

const FILTERS = ["q", "project", "kind", "tag", "state", "since", "until"];
const MORE = 50;

/** @param {import("../app.js").ViewProps} props */
export function MemoryView({ roots, root, params }) {
  const [again, setAgain] = useState(0);
  const k = Number(params.get("k")) || MORE;
  const asked = { ...Object.fromEntries(FILTERS.map((name) => [name, params.get(name) ?? ""])), root, k };
  /** @type {{answer: Listing | null, error: unknown, busy: boolean}} */
  const { answer, error, busy } = useAnswer(asked, (one, signal) => get("notes", one, signal), again);
  const notes = answer?.notes ?? [];
  const [at, setAt] = useState(0);
  useEffect(() => setAt(0), [params.get("q"), root]);
  const { chosen, choose, drop, clear } = useChosen();
  const open = params.get("note") ?? "";
  const doing = params.get("do") ?? "";
  const narrow = useNarrow();
  const several = roots.length > 1;
  const changed = () => setAgain((count) => count + 1);
  useMemoryKeys({ notes, at, setAt, open, doing, several, choose });
  const panel = doing === "merge" || doing === "new" || open !== "";

  return html`<main class=${`memory ${panel ? "with-panel" : ""}`} aria-busy=${busy}>
    <h1 class="hidden">Memory</h1>
    <${Recall} query=${params.get("q") ?? ""} />
    <div class="states" role="status">
      ${answer && html`<p class="dim">${summary(answer, params.get("q") ?? "")}</p>`}
      ${(answer?.said ?? []).map((one) => html`<p class="warning">${one}</p>`)}
    </div>
    <${Wrong} error=${error} />
    ${answer && html`<${Timeline} days=${answer.days} since=${params.get("since") ?? ""} until=${params.get("until") ?? ""} narrow=${narrow} />`}
    ${chosen.size > 0 && doing !== "merge" && html`<${Selection} count=${chosen.size} clear=${clear} />`}
    <div class="columns">
      ${answer && answer.every > 0 && html`<${Filters} counts=${answer.counts} params=${params} narrow=${narrow} />`}
      <div class="listed">
        ${answer && notes.length === 0 && html`<${Nothing} answer=${answer} />`}
        <${NoteList} notes=${notes} at=${at} setAt=${setAt} open=${open} chosen=${new Set(chosen.keys())} choose=${choose} several=${several} />
        ${notes.length === k && html`<p><button onClick=${() => change({ k: k + MORE })}>More notes</button></p>`}
      </div>
      ${doing === "merge"
        ? html`<${MergePanel} chosen=${[...chosen.values()]} drop=${drop} done=${() => { clear(); changed(); }} />`
        : doing === "new"
          ? html`<${NewForm} root=${root} project=${params.get("project") ?? ""} changed=${changed} />`
          : open &&
            html`<${NotePanel} noteKey=${open} root=${params.get("of") ?? root} doing=${doing} again=${again} brief=${notes.find((one) => one.key === open)} changed=${changed}
              merge=${(/** @type {Brief} */ note) => { if (!chosen.has(note.key)) choose(note); change({ do: "merge" }, { step: true }); }} key=${open} />`}
    </div>
  </main>`;
}

/** The notes that are ticked, in the order in which they were. */
function useChosen() {
  const [chosen, set] = useState(/** @type {Map<string, {key: string, root: string, headline: string}>} */ (new Map()));
  const drop = (/** @type {string} */ key) => set((before) => new Map([...before].filter(([one]) => one !== key)));
  const choose = (/** @type {{key: string, root: string, headline: string}} */ note) => {
    if (chosen.has(note.key)) drop(note.key);
    else set((before) => new Map([...before, [note.key, note]]));
  };
  return { chosen, choose, drop, clear: () => set(new Map()) };
}

/**
 * @param {{notes: Brief[], at: number, setAt: (at: number) => void, open: string, doing: string, several: boolean, choose: (note: Brief) => void}} props
 */
function useMemoryKeys({ notes, at, setAt, open, doing, several, choose }) {
  const openNote = (/** @type {Brief} */ note, /** @type {boolean} */ step) => change({ note: note.key, of: several ? note.root : null, do: null }, { step });
  const move = (/** @type {number} */ by) => {
    const next = Math.max(0, Math.min(notes.length - 1, at + by));
    if (!notes[next]) return;
    setAt(next);
    const item = document.querySelectorAll(".notes > li")[next];
    item?.scrollIntoView({ block: "nearest" });
    const link = item?.querySelector("a");
    if (link instanceof HTMLElement) link.focus({ preventScroll: true });
    if (open) openNote(notes[next], false);
  };
  const inField = () => document.activeElement instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
  const leave = () => {
    if (inField() && document.activeElement instanceof HTMLElement) return document.activeElement.blur(); // what was typed stays
    if (doing) return change({ do: null }, { step: true });
    if (open) change({ note: null, of: null }, { step: true });
  };
  useKeys([
    { key: "/", does: "to the question", run: () => document.getElementById("recall")?.focus() },
    { key: "j", does: "next note", run: () => move(open || inList() ? 1 : 0) },
    { key: "k", does: "note before", run: () => move(-1) },
    { key: "o", does: "open the note", run: () => notes[at] && openNote(notes[at], true) },
    { key: "x", does: "select the note", run: () => notes[at] && choose(notes[at]) },
    { key: "m", does: "merge what is selected", run: () => change({ do: "merge" }, { step: true }) },
    { key: "n", does: "write a new note", run: () => change({ do: "new" }, { step: true }) },
    { key: "Escape", does: "close", inFields: true, run: leave },
  ]);
}

function inList() {
  return document.activeElement?.closest(".notes") != null;
}

/** @param {{query: string}} props */
function Recall({ query }) {
  return html`<div class="asking row" role="search">
    <label class="grow"><span class="hidden">Recall notes</span>
      <input id="recall" type="search" value=${query} placeholder="why is the rollout stuck" autocomplete="off" spellcheck=${false}
        onInput=${(/** @type {InputEvent & {currentTarget: HTMLInputElement}} */ event) => change({ q: event.currentTarget.value, k: null })} /></label>
    <a class="button" href=${linkTo("/memory", { ...Object.fromEntries(here().params), do: "new" })}>New note</a>
  </div>`;
}

/** @param {{count: number, clear: () => void}} props */
function Selection({ count, clear }) {
  return html`<div class="selection" role="status"><span>${counted(count, "note")} selected</span>
    <button class=${count > 1 ? "main" : ""} disabled=${count < 2} onClick=${() => change({ do: "merge" }, { step: true })}>Merge</button>
    <button class="plain" onClick=${clear}>Select none</button></div>`;
}

/** @param {Listing} answer @param {string} query */
function summary({ notes, total, every, directories }, query) {
  const of = total === every ? counted(every, "note") : `${counted(total, "note")} of ${every}`;
  const found = query.trim() ? `${notes.length} recalled from ${of}` : of;
  return `${found} in ${directories.join(", ")}`;
}

/** @param {{answer: Listing}} props */
function Nothing({ answer }) {
  if (answer.every) return html`<p class="empty">No note fits.</p>`;
  return html`<div class="empty"><p>There are no notes yet.</p><p>Write the first one here, or with <code>whence remember "what was learned"</code>; agents write them over MCP.</p></div>`;
}
