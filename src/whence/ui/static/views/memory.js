// Notes: recalled or listed, on a line of time, each with its state; mended, merged and let go.
import { change, here, linkTo } from "../lib/address.js";
import { get } from "../lib/api.js";
import { useAnswer } from "../lib/asking.js";
import { html, useEffect, useRef, useState } from "../lib/dom.js";
import { useKeys } from "../lib/keys.js";
import { counted, useNarrow, Wrong } from "../lib/parts.js";
import { NewForm } from "./memory/edit.js";
import { Filters } from "./memory/filters.js";
import { NoteList } from "./memory/list.js";
import { MergePanel } from "./memory/merge.js";
import { NotePanel } from "./memory/note.js";
import { idOf, MOST_NOTES } from "./memory/notes.js";
import { Timeline } from "./memory/timeline.js";

/** @typedef {import("./memory/notes.js").Brief} Brief */
/** @typedef {import("./memory/notes.js").Listing} Listing */

const FILTERS = ["q", "project", "kind", "tag", "state", "since", "until"];
const MORE = 50;
/** @type {Brief[]} */
const NONE = [];

/** @param {import("../app.js").ViewProps} props */
export function MemoryView({ roots, root, params }) {
  const [again, setAgain] = useState(0);
  const k = Math.max(1, Math.min(Number(params.get("k")) || MORE, MOST_NOTES));
  const asked = { ...Object.fromEntries(FILTERS.map((name) => [name, params.get(name) ?? ""])), root, k };
  /** @type {{answer: Listing | null, error: unknown, busy: boolean}} */
  const { answer, error, busy } = useAnswer(asked, (one, signal) => get("notes", one, signal), again);
  const notes = answer?.notes ?? [];
  const [at, setAt] = useState(0);
  useEffect(() => setAt(0), [params.get("q"), root]);
  const { chosen, choose, drop, clear } = useChosen();
  const open = params.get("note") ?? "";
  const of = params.get("of") ?? root;
  const doing = params.get("do") ?? "";
  const narrow = useNarrow();
  const several = roots.length > 1;
  const changed = () => setAgain((count) => count + 1);
  const isOpen = (/** @type {Brief} */ note) => note.key === open && (!of || note.root === of);
  useEffect(() => {
    const place = notes.findIndex(isOpen);
    if (place >= 0) setAt(place);
  }, [open, of, answer]);
  useMemoryKeys({ notes, at, setAt, open, doing, several, choose });
  const panel = doing === "merge" || doing === "new" || open !== "";
  useFocusBack(panel, at, answer?.notes ?? NONE);
  // On a phone a panel lies over the list, in which the others are to be ticked.
  const merge = (/** @type {Brief} */ note) => {
    const known = chosen.has(idOf(note));
    if (!known) choose(note);
    change(narrow && chosen.size + Number(!known) < 2 ? { note: null, of: null, do: null } : { do: "merge" }, { step: true });
  };

  return html`<main class=${`memory ${panel ? "with-panel" : ""}`} aria-busy=${busy}>
    <h1 class="hidden">Memory</h1>
    <${Recall} query=${params.get("q") ?? ""} />
    <div class="states" role="status">
      ${answer && html`<p class="dim">${summary(answer, params)}</p>`}
      ${(answer?.said ?? []).map((one) => html`<p class="warning">${one}</p>`)}
    </div>
    <${Wrong} error=${error} />
    ${answer && html`<${Timeline} days=${answer.days} since=${params.get("since") ?? ""} until=${params.get("until") ?? ""} narrow=${narrow} />`}
    ${chosen.size > 0 && doing !== "merge" && html`<${Selection} count=${chosen.size} clear=${clear} />`}
    <div class="columns">
      ${answer && answer.every > 0 && html`<${Filters} counts=${answer.counts} params=${params} narrow=${narrow} />`}
      <div class="listed">
        ${answer && notes.length === 0 && html`<${Nothing} answer=${answer} />`}
        <${NoteList} notes=${notes} at=${at} setAt=${setAt} isOpen=${isOpen} chosen=${new Set(chosen.keys())} choose=${choose} several=${several} />
        ${notes.length === k && k < MOST_NOTES && html`<p><button onClick=${() => change({ k: k + MORE })}>More notes</button></p>`}
      </div>
      ${doing === "merge"
        ? html`<${MergePanel} chosen=${[...chosen.values()]} drop=${drop} done=${() => { clear(); changed(); }} />`
        : doing === "new"
          ? html`<${NewForm} root=${root} project=${params.get("project") ?? ""} changed=${changed} />`
          : open &&
            html`<${NotePanel} noteKey=${open} root=${of} doing=${doing} again=${again} brief=${notes.find(isOpen)} changed=${changed} merge=${merge} narrow=${narrow} key=${`${of}:${open}`} />`}
    </div>
  </main>`;
}

/** The notes that are ticked, in the order in which they were. */
function useChosen() {
  const [chosen, set] = useState(/** @type {Map<string, {key: string, root: string, headline: string}>} */ (new Map()));
  const drop = (/** @type {string} */ id) => set((before) => new Map([...before].filter(([one]) => one !== id)));
  const choose = (/** @type {{key: string, root: string, headline: string}} */ note) => {
    if (chosen.has(idOf(note))) drop(idOf(note));
    else set((before) => new Map([...before, [idOf(note), note]]));
  };
  return { chosen, choose, drop, clear: () => set(new Map()) };
}

/**
 * When the panel is closed the focus goes back to the note in the list, unless it is somewhere already; and on to
 * another when that note leaves the list, for it was forgotten.
 * @param {boolean} panel @param {number} at @param {Brief[]} notes
 */
function useFocusBack(panel, at, notes) {
  const was = useRef(false);
  const last = useRef(/** @type {Element | null} */ (null));
  useEffect(() => {
    const nowhere = !document.activeElement || document.activeElement === document.body;
    if (!panel && nowhere && (was.current || last.current?.isConnected === false)) last.current = focusNote(Math.min(at, notes.length - 1));
    was.current = panel;
  }, [panel, notes]);
}

/** @param {number} place @returns {Element | null} what has the focus then */
function focusNote(place) {
  const item = document.querySelectorAll(".notes > li")[place];
  item?.scrollIntoView({ block: "nearest" });
  const link = item?.querySelector("a") ?? null;
  link?.focus({ preventScroll: true });
  return link;
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
    focusNote(next);
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
    ${count < 2 ? html`<span class="dim">tick another to merge them</span>` : html`<button class="main" onClick=${() => change({ do: "merge" }, { step: true })}>Merge</button>`}
    <button class="plain" onClick=${clear}>Select none</button></div>`;
}

/** @param {Listing} answer @param {URLSearchParams} params */
function summary({ notes, total, every, counts, directories }, params) {
  const away = params.get("state") ? 0 : counts.states.archived ?? 0;
  const of = total + away === every ? `${counted(total, "note")}${away ? ` and ${away} archived` : ""}` : `${total} of ${counted(every, "note")}`;
  const found = params.get("q")?.trim() ? `${notes.length} recalled from ${of}` : of;
  return `${found} in ${directories.join(", ")}`;
}

/** @param {{answer: Listing}} props */
function Nothing({ answer }) {
  if (answer.every) return html`<p class="empty">No note fits.</p>`;
  return html`<div class="empty"><p>There are no notes yet.</p><p>Write the first one here, or with <code>whence remember "what was learned"</code>; agents write them over MCP.</p></div>`;
}
