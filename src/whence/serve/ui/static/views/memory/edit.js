// Writing: a new note, and a change of one. What another has written meanwhile is shown, not overwritten.
import { change as address, go, linkTo } from "../../lib/address.js";
import { ApiError, post } from "../../lib/api.js";
import { html, useState } from "../../lib/dom.js";
import { Wrong } from "../../lib/parts.js";
import { Diff } from "./diff.js";
import { change, day, KINDS, read } from "./notes.js";

/** @typedef {import("./notes.js").Note} Note */
/** @typedef {{text: string, topic: string, kind: string, tags: string, about: string, source: string, valid_from: string, valid_until: string}} Fields */

const EMPTY = { text: "", topic: "", kind: "durable", tags: "", about: "", source: "", valid_from: "", valid_until: "" };

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

/** @param {{note: Note, changed: () => void}} props */
export function EditForm({ note, changed }) {
  const [seen, setSeen] = useState(note);
  const [fields, setFields] = useState(() => fieldsOf(note));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [now, setNow] = useState(/** @type {Note | null} */ (null));
  const close = () => address({ do: null });
  const store = async (/** @type {boolean} */ redact) => {
    try {
      await change(seen, "", { ...changesOf(fieldsOf(seen), fields), redact });
      close();
      changed();
    } catch (trouble) {
      setError(trouble);
      setNow(trouble instanceof ApiError && trouble.status === 409 ? await read(note, new AbortController().signal) : null);
    }
  };
  const take = (/** @type {Note} */ one, /** @type {boolean} */ whole) => {
    setSeen(one);
    if (whole) setFields(fieldsOf(one));
    setNow(null);
    setError(null);
  };
  return html`<${Form} fields=${fields} setFields=${setFields} error=${error} store=${store} close=${close} named="Store">
    ${now &&
    html`<div class="conflict card" role="group" aria-label="What is there now">
      <p>Another has changed the note since you opened it. ${now.versions[0].lines.length > 0 ? "The last change:" : "Its text is the same."}</p>
      ${now.versions[0].lines.length > 0 && html`<${Diff} lines=${now.versions[0].lines} label="the last change" />`}
      <div class="deeds"><button type="button" onClick=${() => take(now, true)}>Take what is there, drop mine</button>
        <button type="button" onClick=${() => take(now, false)}>Keep mine, store it over that</button></div>
      <p class="dim">What is stored over stays in the history of the note.</p>
    </div>`}
  <//>`;
}

/** @param {{root: string, project: string, changed: () => void}} props */
export function NewForm({ root, project, changed }) {
  const [fields, setFields] = useState(EMPTY);
  const [whose, setWhose] = useState(project);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const store = async (/** @type {boolean} */ redact) => {
    try {
      /** @type {Note} */
      const made = await post("notes", { root, text: fields.text, ...changesOf(EMPTY, fields), redact, ...(whose ? { project: whose } : {}) });
      go(linkTo("/memory", { note: made.key, of: root, root }));
      changed();
    } catch (trouble) {
      setError(trouble);
    }
  };
  const close = () => address({ do: null });
  return html`<aside class="panel note-panel" aria-label="New note">
    <header><h2>New note</h2><button class="plain" onClick=${close} aria-label="Close">✕</button></header>
    <${Form} fields=${fields} setFields=${setFields} error=${error} store=${store} close=${close} named="Remember">
      <label>Project <input value=${whose} placeholder="the repository's name" onInput=${(/** @type {InputEvent & {currentTarget: HTMLInputElement}} */ event) => setWhose(event.currentTarget.value)} /></label>
    <//>
  </aside>`;
}

/**
 * @param {{fields: Fields, setFields: (next: Fields) => void, error: unknown, store: (redact: boolean) => Promise<void>, close: () => void, named: string, children?: unknown}} props
 */
function Form({ fields, setFields, error, store, close, named, children }) {
  const secret = error instanceof Error && error.message.includes("secret");
  const submit = (/** @type {SubmitEvent & {submitter: HTMLElement | null}} */ event) => {
    event.preventDefault();
    void store(event.submitter?.dataset.redact === "yes");
  };
  const set = (/** @type {keyof Fields} */ name) => (/** @type {Event & {currentTarget: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement}} */ event) => setFields({ ...fields, [name]: event.currentTarget.value });
  return html`<form class="note-form" onSubmit=${submit} onKeyDown=${(/** @type {KeyboardEvent & {currentTarget: HTMLFormElement}} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
  }}>
    <label>Text <textarea rows="12" value=${fields.text} onInput=${set("text")} required autofocus></textarea></label>
    <label>Topic <input value=${fields.topic} onInput=${set("topic")} /></label>
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
    ${children}
    <${Wrong} error=${error} />
    <div class="deeds"><button class="main">${named}</button>
      ${secret && html`<button data-redact="yes">${named} it without the secret</button>`}
      <button type="button" class="plain" onClick=${close}>Cancel</button><span class="dim"><kbd>Ctrl</kbd> <kbd>Enter</kbd></span></div>
  </form>`;
}
