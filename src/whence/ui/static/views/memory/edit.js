// Writing: a new note, and a change of one. What another has written meanwhile is shown, not overwritten.
import { change as address, go, linkTo } from "../../lib/address.js";
import { ApiError, post } from "../../lib/api.js";
import { html, useEffect, useRef, useState } from "../../lib/dom.js";
import { Wrong } from "../../lib/parts.js";
import { Diff } from "./diff.js";
import { change, day, idOf, KINDS, NO_PROJECT } from "./notes.js";

/** @typedef {import("./notes.js").Note} Note */
/** @typedef {{text: string, topic: string, kind: string, tags: string, about: string, source: string, valid_from: string, valid_until: string}} Fields */
/** @typedef {Event & {currentTarget: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement}} Typed */

/** @type {Fields & {project: string}} */
const EMPTY = { text: "", topic: "", kind: "durable", tags: "", about: "", source: "", valid_from: "", valid_until: "", project: "" };
const NEW = "a new note";
/** What was typed and not stored, by the note it is of: to look at another note in between loses nothing. @type {Map<string, any>} */
const drafts = new Map();

/** @param {Note} note @returns {Fields} */
function fieldsOf(note) {
  return {
    text: note.text,
    topic: note.topic,
    kind: note.kind,
    tags: note.tags.join(", "),
    about: note.about.map((one) => one.code).join("\n"),
    source: note.source,
    valid_from: day(note.valid_from),
    valid_until: day(note.valid_until),
  };
}

/** @param {string} text */
export function tagsOf(text) {
  return text.split(",").map((one) => one.trim().replace(/^#/, "")).filter(Boolean);
}

/** What was changed, as the server is told. @param {Fields} before @param {Fields} after */
function changesOf(before, after) {
  /** @type {Record<string, unknown>} */
  const found = {};
  for (const name of /** @type {(keyof Fields)[]} */ (Object.keys(after))) if (after[name] !== before[name]) found[name] = after[name];
  if ("tags" in found) found.tags = tagsOf(after.tags);
  if ("about" in found) found.about = after.about.split("\n").map((one) => one.trim()).filter(Boolean);
  return found;
}

/**
 * What is typed, kept until it is stored or dropped.
 * @template T
 * @param {string} name @param {() => T} made
 * @returns {{typed: T, type: (next: T) => void, drop: (next?: T) => void, found: boolean}}
 */
function useDraft(name, made) {
  const [found, setFound] = useState(drafts.has(name));
  const [typed, set] = useState(/** @type {() => T} */ (() => drafts.get(name) ?? made()));
  const type = (/** @type {T} */ next) => {
    drafts.set(name, next);
    set(next);
  };
  const drop = (/** @type {T} */ next = made()) => {
    drafts.delete(name);
    set(next);
    setFound(false);
  };
  return { typed, type, drop, found };
}

/** @param {{note: Note, changed: () => void}} props */
export function EditForm({ note, changed }) {
  const of = (/** @type {Note} */ one) => ({ base: one, fields: fieldsOf(one) });
  const { typed, type, drop, found } = useDraft(idOf(note), () => of(note));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [now, setNow] = useState(/** @type {{note: Note, lines: import("./notes.js").DiffLine[]} | null} */ (null));
  const close = () => address({ do: null });
  const start = () => {
    drop(of(now?.note ?? note));
    setNow(null);
    setError(null);
  };
  // Only what was changed here is sent: what another has changed beside it stays.
  const store = async (/** @type {boolean} */ redact, over = typed.base) => {
    try {
      await change(over, "", { ...changesOf(fieldsOf(typed.base), typed.fields), redact });
      drop();
      close();
      changed();
    } catch (trouble) {
      setError(trouble);
      setNow(trouble instanceof ApiError && trouble.status === 409 ? { note: trouble.said.now, lines: trouble.said.lines } : null);
      if (trouble instanceof ApiError && trouble.status === 409) changed();
    }
  };
  return html`<${Form} fields=${typed.fields} setFields=${(/** @type {Fields} */ fields) => type({ ...typed, fields })} error=${error} store=${store}
    close=${() => { drop(); close(); }} named="Store" kept=${found && start} contested=${now !== null}>
    ${now &&
    html`<div class="conflict card" role="group" aria-label="What is there now">
      <p>${now.lines.length ? "From what you wrote to what is there now:" : "Its text is what you wrote; something else differs."}</p>
      ${now.lines.length > 0 && html`<${Diff} lines=${now.lines} label="from what you wrote to what is there now" />`}
      <div class="deeds"><button type="button" onClick=${start}>Drop mine, take what is there</button>
        <button type="button" onClick=${() => store(false, now.note)}>Store mine over it</button></div>
      <p class="dim">What is stored over stays in the history of the note.</p>
    </div>`}
  <//>`;
}

/** @param {{root: string, project: string, changed: () => void}} props */
export function NewForm({ root, project, changed }) {
  const { typed, type, drop, found } = useDraft(NEW, () => ({ ...EMPTY, project: project === NO_PROJECT ? "" : project }));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const store = async (/** @type {boolean} */ redact) => {
    try {
      /** @type {Note} */
      const made = await post("notes", { root, ...changesOf(EMPTY, typed), text: typed.text, redact });
      drop();
      go(linkTo("/memory", { note: made.key, of: root, root }));
      changed();
    } catch (trouble) {
      setError(trouble);
    }
  };
  const close = () => address({ do: null });
  const there = error instanceof ApiError && error.status === 409 ? error.said.now : null;
  return html`<aside class="panel note-panel" aria-label="New note">
    <header><h2>New note</h2><button class="plain" onClick=${close} aria-label="Close">✕</button></header>
    <${Form} fields=${typed} setFields=${type} error=${error} store=${store} close=${() => { drop(); close(); }} named="Remember" kept=${found && (() => drop())}
      first=${html`<label>Project <input value=${typed.project} placeholder="the repository's name" onInput=${(/** @type {Typed} */ event) => type({ ...typed, project: event.currentTarget.value })} /></label>`}>
      ${there && html`<p><a href=${linkTo("/memory", { root, note: there.key, of: root })}>Look at ${there.headline}</a> <span class="dim">what you typed stays here</span></p>`}
    <//>
  </aside>`;
}

/**
 * `kept` starts over where the form opens with what was typed before.
 * @param {{fields: any, setFields: (next: any) => void, error: unknown, store: (redact: boolean) => Promise<void>, close: () => void, named: string, kept: false | (() => void), contested?: boolean, first?: unknown, children?: unknown}} props
 */
function Form({ fields, setFields, error, store, close, named, kept, contested = false, first, children }) {
  const busy = useRef(false);
  const text = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => {
    text.current?.focus();
    text.current?.closest(".panel")?.scrollIntoView({ block: "nearest" }); // with the buttons at its end
  }, []);
  const secret = error instanceof Error && error.message.includes("looks like a secret");
  const submit = async (/** @type {SubmitEvent & {submitter: HTMLElement | null}} */ event) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    await store(event.submitter?.dataset.redact === "yes");
    busy.current = false;
  };
  const set = (/** @type {string} */ name) => (/** @type {Typed} */ event) => setFields({ ...fields, [name]: event.currentTarget.value });
  return html`<form class="note-form" onSubmit=${submit} onKeyDown=${(/** @type {KeyboardEvent & {currentTarget: HTMLFormElement}} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
  }}>
    ${kept && html`<p class="dim" role="status">This is what you typed before. <button type="button" onClick=${kept}>Start over</button></p>`}
    <label>Text <textarea ref=${text} rows="12" value=${fields.text} onInput=${set("text")} required></textarea></label>
    <div class="pair"><label>Topic <input value=${fields.topic} onInput=${set("topic")} /></label>${first}</div>
    <div class="pair">
      <label>Kind <select value=${fields.kind} onChange=${set("kind")}>${KINDS.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
      <label>Tags, with commas between <input value=${fields.tags} onInput=${set("tags")} /></label>
    </div>
    <label>Code it speaks of, one on each line <textarea rows=${Math.max(2, fields.about.split("\n").length)} value=${fields.about} onInput=${set("about")} placeholder="src/app.py#App.run" spellcheck=${false}></textarea></label>
    <div class="pair">
      <label>Holds from <input type="date" value=${fields.valid_from} onInput=${set("valid_from")} /></label>
      <label>Until <input type="date" value=${fields.valid_until} onInput=${set("valid_until")} /></label>
    </div>
    <label>Where it comes from <input value=${fields.source} onInput=${set("source")} /></label>
    <div class="deeds">
      <${Wrong} error=${secret ? new Error(error.message) : error} />
      ${children}
      ${!contested && html`<button class="main">${named}</button>`}
      ${secret && html`<button data-redact="yes">${named} it without the secret</button>`}
      <button type="button" class="plain" onClick=${close}>Cancel</button>${!contested && html`<span class="dim"><kbd>Ctrl</kbd> <kbd>Enter</kbd></span>`}</div>
  </form>`;
}
