// The list of notes.
import { given, linkTo } from "../../lib/address.js";
import { html } from "../../lib/dom.js";
import { day } from "./notes.js";

/** @typedef {import("./notes.js").Brief} Brief */

/** @param {{state: string}} props */
export function Badge({ state }) {
  return html`<span class=${`badge ${state}`}>${state}</span>`;
}

/** @param {{notes: Brief[], at: number, setAt: (at: number) => void, open: string, chosen: Set<string>, choose: (note: Brief) => void, several: boolean}} props */
export function NoteList({ notes, at, setAt, open, chosen, choose, several }) {
  return html`<ol class="results notes">
    ${notes.map((note, place) => html`<li key=${`${note.root}:${note.key}`} class=${`${place === at ? "at" : ""} ${open === note.key ? "open" : ""}`} onFocusIn=${() => setAt(place)}>
      <input type="checkbox" checked=${chosen.has(note.key)} onChange=${() => choose(note)} aria-label=${`Select ${note.headline || note.key}`} />
      <div>
        <h3>
          <a href=${linkTo("/memory", { ...given(), note: note.key, of: several ? note.root : null, do: null })} aria-current=${open === note.key ? "true" : undefined}>${note.headline || note.key}</a>
          <${Badge} state=${note.state} />
          ${note.trouble && html`<span class="badge trouble">trouble</span>`}
          ${note.label && html`<span class="found" title="how it was found">${note.label} ${note.score?.toFixed(2)}</span>`}
        </h3>
        <p class="facts"><span>${note.day}</span><span>${note.project || "no project"}</span><span>${note.kind}</span>${note.tags.map((tag) => html`<span>#${tag}</span>`)}${validity(note)}</p>
        <p class="beginning">${note.lines.map((line) => html`<span>${line.runs.map(([text, , marked]) => (marked ? html`<mark>${text}</mark>` : text))} </span>`)}${note.more_lines > 0 && "…"}</p>
        ${note.changed && html`<p class="warning">${note.changed}</p>`}
        ${note.alike.length > 0 && html`<p class="dim">and ${note.alike.length} alike: ${note.alike.join(", ")}</p>`}
      </div>
    </li>`)}
  </ol>`;
}

/** When a note does not hold now. @param {import("./notes.js").Facts} note */
export function validity(note) {
  const now = new Date().toISOString();
  if (note.valid_until && note.valid_until <= now) return html`<span class="warning">held until ${day(note.valid_until)}</span>`;
  if (note.valid_from && note.valid_from > now) return html`<span class="warning">holds from ${day(note.valid_from)}</span>`;
  return null;
}
