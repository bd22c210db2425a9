// The list of notes.
import { given, linkTo } from "../../lib/address.js";
import { html } from "../../lib/dom.js";
import { day, idOf } from "./notes.js";

/** @typedef {import("./notes.js").Brief} Brief */

/** @param {{state: string}} props */
export function Badge({ state }) {
  return html`<span class=${`badge ${state}`}>${state}</span>`;
}

/** @param {{notes: Brief[], at: number, setAt: (at: number) => void, isOpen: (note: Brief) => boolean, chosen: Set<string>, choose: (note: Brief) => void, several: boolean}} props */
export function NoteList({ notes, at, setAt, isOpen, chosen, choose, several }) {
  return html`<ol class="results notes">
    ${notes.map((note, place) => html`<li key=${idOf(note)} class=${[place === at && "at", isOpen(note) && "open", note.label === "faint" && "faint"].filter(Boolean).join(" ")} onFocusIn=${() => setAt(place)}>
      <input type="checkbox" checked=${chosen.has(idOf(note))} onChange=${() => choose(note)} aria-label=${`Select ${note.headline || note.key}`} />
      <div>
        <h3>
          <a href=${linkTo("/memory", { ...given(), note: note.key, of: several ? note.root : null, do: null })} aria-current=${isOpen(note) ? "true" : undefined}>${note.headline || note.key}</a>
          <${Badge} state=${note.state} />
          ${note.trouble && html`<span class="badge trouble">trouble</span>`}
          ${note.label && html`<span class="found" title="how it was found">${note.label} ${note.score?.toFixed(2)}</span>`}
        </h3>
        <p class="facts"><span>${note.day}</span><span>${note.project || "no project"}</span><span>${note.kind}</span>${note.tags.map((tag) => html`<span>#${tag}</span>`)}${validity(note)}</p>
        <${Beginning} note=${note} />
        ${note.changed && html`<p class="warning">${note.changed}</p>`}
        ${note.alike.length > 0 && html`<p class="dim">and ${note.alike.length} alike: ${note.alike.map((key, nth) => html`${nth > 0 && ", "}<a href=${linkTo("/memory", { ...given(), note: key, of: several ? note.root : null, do: null })}>${key}</a>`)}</p>`}
      </div>
    </li>`)}
  </ol>`;
}

/** What of a note matters, or how it begins, without the marks of Markdown; nothing when its name says all of it. @param {{note: Brief}} props */
function Beginning({ note }) {
  const marked = note.lines.some((line) => line.runs.some(([, , one]) => one));
  const whole = note.lines.map((line) => line.runs.map(([text]) => text).join("")).join(" ").trim();
  if (!marked && !note.more_lines && whole === note.headline) return null;
  const plain = (/** @type {string} */ text, /** @type {number} */ nth) => (nth ? text : text.replace(/^\s*(?:#{1,6}|[-*+]|>|\d{1,9}[.)])\s+/, "")).replace(/\*\*|`/g, "");
  return html`<p class="beginning">${note.lines.map((line, place) => html`<span>${place > 0 && "· "}${line.runs.map(([text, , one], nth) => (one ? html`<mark>${text}</mark>` : plain(text, nth)))} </span>`)}${note.more_lines > 0 && "…"}</p>`;
}

/** When a note does not hold now. @param {import("./notes.js").Facts} note */
export function validity(note) {
  const now = new Date().toISOString();
  if (note.valid_until && note.valid_until <= now) return html`<span class="warning">held until ${day(note.valid_until)}</span>`;
  if (note.valid_from && note.valid_from > now) return html`<span class="warning">holds from ${day(note.valid_from)}</span>`;
  return null;
}
