// Several notes into one: the text is shown and can be mended before anything is stored.
import { change as address, go, linkTo } from "../../lib/address.js";
import { ApiError, post } from "../../lib/api.js";
import { useAnswer } from "../../lib/asking.js";
import { html, useEffect, useRef, useState } from "../../lib/dom.js";
import { Wrong } from "../../lib/parts.js";
import { tagsOf } from "./edit.js";
import { idOf } from "./notes.js";

/** @typedef {{key: string, root: string, headline: string}} Chosen */
/** @typedef {{notes: {key: string, expected: string}[], text: string, topic: string, kind: string, tags: string[], about: string[]}} Draft */

/** @param {{chosen: Chosen[], drop: (id: string) => void, done: () => void}} props */
export function MergePanel({ chosen, drop, done }) {
  const [into, setInto] = useState("");
  const [again, setAgain] = useState(0);
  const head = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (document.activeElement === document.body) head.current?.focus(); // the button that led here is gone
  }, []);
  const first = chosen.find((one) => idOf(one) === into) ?? chosen[0];
  const ordered = first ? [first, ...chosen.filter((one) => one !== first)] : [];
  const asked = ordered.length > 1 ? { root: first.root, notes: ordered.map(({ key }) => ({ key })) } : null;
  const { answer, error, of } = useAnswer(asked, (one, signal) => post("notes/merge-draft", one, signal), again);
  const current = answer && JSON.stringify(of) === JSON.stringify(asked) ? answer : null;
  return html`<aside class="panel note-panel" aria-label="Merge">
    <header><h2 ref=${head} tabindex="-1">Merge notes</h2><button class="plain" onClick=${() => address({ do: null })} aria-label="Close">✕</button></header>
    ${ordered.length < 2 && html`<p>Select the notes to merge: tick them in the list, or press <kbd>x</kbd> on them.</p>`}
    ${chosen.length > 0 &&
    html`<fieldset class="into"><legend>Into</legend>
      ${chosen.map((one) => html`<div key=${idOf(one)}><label><input type="radio" name="into" checked=${one === first} onChange=${() => setInto(idOf(one))} /> ${one.headline} <code>${one.key}</code></label>
        <button class="plain" onClick=${() => drop(idOf(one))} aria-label=${`Leave out ${one.headline}`}>✕</button></div>`)}
    </fieldset>`}
    <${Wrong} error=${error} />
    ${current && html`<${MergeForm} key=${JSON.stringify(current.notes)} draft=${current} root=${first.root} done=${done} readAgain=${() => setAgain(again + 1)} />`}
  </aside>`;
}

/** @param {{draft: Draft, root: string, done: () => void, readAgain: () => void}} props */
function MergeForm({ draft, root, done, readAgain }) {
  const [fields, setFields] = useState({ text: draft.text, topic: draft.topic, tags: draft.tags.join(", "), affirm: false, forget: false });
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [left, setLeft] = useState(/** @type {string[]} */ ([]));
  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    try {
      const { text, topic, tags, affirm, forget } = fields;
      const made = await post("notes/merge", { root, notes: draft.notes, text, topic, tags: tagsOf(tags), affirm, forget });
      setLeft(made.left);
      done();
      if (!made.left.length) go(linkTo("/memory", { note: made.note.key, of: root }));
    } catch (trouble) {
      setError(trouble);
    }
  };
  const set = (/** @type {"text" | "topic" | "tags"} */ name) => (/** @type {Event & {currentTarget: HTMLInputElement | HTMLTextAreaElement}} */ event) => setFields({ ...fields, [name]: event.currentTarget.value });
  const mark = (/** @type {"affirm" | "forget"} */ name) => () => setFields({ ...fields, [name]: !fields[name] });
  if (left.length) return html`<p role="status">Merged. Changed by another meanwhile, and left as they are: ${left.join(", ")}.</p>`;
  return html`<form class="note-form" onSubmit=${submit}>
    <label>Text <textarea rows="14" value=${fields.text} onInput=${set("text")} required></textarea></label>
    <label>Topic <input value=${fields.topic} onInput=${set("topic")} /></label>
    <label>Tags, with commas between <input value=${fields.tags} onInput=${set("tags")} /></label>
    ${draft.about.length > 0 &&
    html`<p class="dim">Speaks of ${draft.about.map((one, place) => html`${place > 0 && ", "}<code>${one}</code>`)}</p>
      <label class="choice"><input type="checkbox" checked=${fields.affirm} onChange=${mark("affirm")} /> It is true of this code as it is now</label>`}
    <label class="choice"><input type="checkbox" checked=${fields.forget} onChange=${mark("forget")} /> Forget the others; else they are archived</label>
    <${Wrong} error=${error} />
    ${error instanceof ApiError && error.status === 409 && html`<p><button type="button" onClick=${readAgain}>Read them again</button> <span class="dim">what is typed here goes</span></p>`}
    <div class="deeds"><button class="main">${fields.forget ? "Merge, and forget the others" : "Merge"}</button></div>
  </form>`;
}
