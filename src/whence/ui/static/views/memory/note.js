// One note: what it says, what it speaks of and what became of that, what it was before, and what can be done with it.
import { change as address, linkTo } from "../../lib/address.js";
import { useAnswer } from "../../lib/asking.js";
import { html, useEffect, useRef, useState } from "../../lib/dom.js";
import { useKeys } from "../../lib/keys.js";
import { counted, Dialog, Wrong } from "../../lib/parts.js";
import { Diff } from "./diff.js";
import { EditForm } from "./edit.js";
import { Badge, validity } from "./list.js";
import { Markdown } from "./markdown.js";
import { change, day, minute, read, readPast } from "./notes.js";

/** @typedef {import("./notes.js").Note} Note */

/** What fields of a note are called here, where that is not their name. @type {Record<string, string>} */
const FIELDS = { about: "the code it speaks of", valid_from: "holds from", valid_until: "holds until", archived: "archived or restored" };

/**
 * @param {{noteKey: string, root: string, doing: string, again: number, brief: import("./notes.js").Brief | undefined, changed: () => void, merge: (note: Note) => void, narrow: boolean}} props
 */
export function NotePanel({ noteKey, root, doing, again, brief, changed, merge, narrow }) {
  const asked = { key: noteKey, root };
  const { answer, error } = useAnswer(asked, read, again);
  const note = answer?.key === noteKey ? answer : null;
  const close = () => address({ note: null, of: null, do: null }, { step: true });
  const head = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (narrow) head.current?.focus(); // the list is beneath it
  }, []);
  return html`<aside class="panel note-panel" aria-label="Note">
    <header><h2 ref=${head} tabindex="-1">${note?.headline ?? noteKey}</h2><button class="plain" onClick=${close} aria-label="Close">✕</button></header>
    ${error ? html`<${Wrong} error=${error} />` : !note ? html`<p class="dim">Reading …</p>` : null}
    ${note &&
    (doing === "edit" && !note.trouble
      ? html`<${EditForm} note=${note} key=${`${note.root}:${note.key}`} changed=${changed} />`
      : html`<${Whole} note=${note} brief=${brief} again=${again} changed=${changed} merge=${merge} />`)}
  </aside>`;
}

/** @param {{note: Note, brief: import("./notes.js").Brief | undefined, again: number, changed: () => void, merge: (note: Note) => void}} props */
function Whole({ note, brief, again, changed, merge }) {
  return html`
    <${Facts} note=${note} />
    <${Deeds} note=${note} changed=${changed} merge=${merge} />
    ${note.trouble && html`<p class="warning">Its file cannot be read as a note, and is not rewritten: ${note.trouble}</p>`}
    ${note.hidden.length > 0 && html`<p class="warning">Not shown, for it looks like a secret: ${note.hidden.join(", ")}</p>`}
    ${note.warning && html`<p class="warning">${note.warning}</p>`}
    <${Markdown} text=${note.text} />
    ${note.about.length > 0 && html`<${Codes} note=${note} again=${again} />`}
    ${brief && brief.why.length > 0 && html`<${Ledger} brief=${brief} />`}
    <${Versions} note=${note} />
  `;
}

/** @param {{note: Note}} props */
function Facts({ note }) {
  const facts = [
    ["written", note.created && day(note.created)],
    ["changed", note.updated && note.updated !== note.created && minute(note.updated)],
    ["holds from", note.valid_from && day(note.valid_from)],
    ["until", note.valid_until && day(note.valid_until)],
    ["archived", note.archived && day(note.archived)],
    ["from", note.source],
  ].filter(([, value]) => value);
  return html`<div class="facts">
    <${Badge} state=${note.state} /><code>${note.key}</code><span>${note.kind}</span>
    ${note.tags.map((tag) => html`<a href=${linkTo("/memory", { tag })}>#${tag}</a>`)}
    ${facts.map(([name, value]) => html`<span><span class="dim">${name}</span> ${value}</span>`)}${validity(note)}
  </div>`;
}

/** What can be done with a note. @param {{note: Note, changed: () => void, merge: (note: Note) => void}} props */
function Deeds({ note, changed, merge }) {
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [forgetting, setForgetting] = useState(false);
  const busy = useRef(false);
  const act = async (/** @type {string} */ action) => {
    if (busy.current) return; // a key that is pressed twice is meant once
    busy.current = true;
    try {
      await change(note, action);
      setError(null);
      setForgetting(false);
      if (action === "forget") address({ note: null, of: null, do: null });
    } catch (trouble) {
      setError(trouble);
      setForgetting(false);
    }
    busy.current = false;
    changed(); // also what was refused: the note is not what is shown here
  };
  const edit = () => !note.trouble && address({ do: "edit" }, { step: true });
  const away = note.state === "archived" ? "restore" : "archive";
  const stale = note.about.some((one) => one.state === "changed" || one.state === "gone");
  useKeys([
    { key: "e", does: "edit the note", run: () => void edit() },
    { key: "a", does: "archive the note, or restore it", run: () => void act(away) },
    { key: "t", does: "the note is still true", run: () => void (stale && act("affirm")) },
    { key: "f", does: "forget the note", run: () => setForgetting(true) },
  ]);
  return html`<div class="deeds">
    <button onClick=${edit} disabled=${Boolean(note.trouble)}>Edit</button>
    ${stale && html`<button onClick=${() => act("affirm")} title="takes the code that it speaks of as it is now">Still true</button>`}
    <button onClick=${() => act(away)}>${away === "archive" ? "Archive" : "Restore"}</button>
    <button onClick=${() => merge(note)}>Merge with …</button>
    <button onClick=${() => setForgetting(true)}>Forget …</button>
    <${Wrong} error=${error} />
    ${forgetting &&
    html`<${Dialog} title="Forget a note" close=${() => setForgetting(false)}>
      <p><strong>${note.headline || note.key}</strong> <code>${note.key}</code></p>
      <p>Its file is deleted${note.versions.length > 1 ? `, and ${counted(note.versions.length - 1, "earlier version")} with it` : ""}. It cannot be had back; an archived note can.</p>
      <div class="deeds">
        <button class="danger" onClick=${() => act("forget")}>Forget it</button>
        ${away === "archive" && html`<button onClick=${() => act("archive")}>Archive it</button>`}
        <button class="plain" onClick=${() => setForgetting(false)}>Leave it</button>
      </div>
    <//>`}
  </div>`;
}

/** @param {{note: Note, again: number}} props */
function Codes({ note, again }) {
  const { answer, error } = useAnswer({ key: note.key, root: note.root }, readPast, `${again} ${note.seen}`);
  /** @type {import("./notes.js").Past[]} */
  const past = answer?.key === note.key ? answer.code : [];
  return html`<section class="codes" aria-label="Code">
    <h3>Code it speaks of</h3>
    <${Wrong} error=${error} />
    <ul>${note.about.map((one, place) => html`<li key=${`${one.repository}:${one.code}`}><${Spoken} code=${one} past=${past[place]} /></li>`)}</ul>
  </section>`;
}

/** @param {{code: import("./notes.js").Code, past: import("./notes.js").Past | undefined}} props */
function Spoken({ code, past }) {
  const [path, symbol] = code.code.split("#", 2);
  const file = linkTo("/", { q: symbol ?? path, open: `${code.root}:${path}`, panel: "source" });
  const when = past?.time ? ` of ${new Date(past.time * 1000).toISOString().slice(0, 10)}` : "";
  return html`
    <p class="spoken"><${Badge} state=${code.state} />
      ${code.root && code.state !== "gone" ? html`<a href=${file}><code>${code.code}</code></a>` : html`<code>${code.code}</code>`}
      ${symbol && code.root && code.state !== "gone" && html`<a href=${linkTo("/graph", { root: code.root, symbol: code.code })}>graph</a>`}
      ${past && code.state !== "fresh" && html`<span class="dim">${past.said}${when}</span>`}
      ${!past && code.state !== "fresh" && html`<span class="dim">looking for what it was …</span>`}
    </p>
    ${past && past.lines.length > 0 && html`<${Diff} lines=${past.lines} label=${`what became of ${code.code}`} />`}
  `;
}

/** Why a recall found the note. @param {{brief: import("./notes.js").Brief}} props */
function Ledger({ brief }) {
  const telling = brief.why.filter((one) => one.contribution !== 0 || one.operation !== "+");
  const most = Math.max(...telling.filter((one) => one.operation === "+").map((one) => Math.abs(one.contribution)), 1e-9);
  return html`<section class="ledger" aria-label="Why it was found">
    <h3>Why it was found <span class="dim">${brief.label} ${brief.score?.toFixed(2)}</span></h3>
    <table><tbody>${telling.map((one) => html`<tr>
      <th scope="row">${one.signal.replace(/^note_/, "").replaceAll("_", " ")}</th>
      <td class="number">${one.operation === "+" ? one.contribution.toFixed(2) : `× ${one.value.toFixed(2)}`}</td>
      <td class="bar" aria-hidden="true">${one.operation === "+" && html`<i style=${`width:${(Math.abs(one.contribution) / most) * 100}%`}></i>`}</td>
      <td>${one.because}</td></tr>`)}</tbody></table>
  </section>`;
}

/** @param {{note: Note}} props */
function Versions({ note }) {
  if (note.versions.length < 2) return null;
  return html`<section class="versions" aria-label="History">
    <h3>What it was before</h3>
    ${note.versions.map((one) => html`<details key=${one.number}>
      <summary>${one.number}. ${one.updated ? minute(one.updated) : "at an unknown time"} <span class="dim">${one.number === 1 ? "the oldest that is kept" : changes(one)}${one.number === note.versions[0].number ? ", as it is now" : ""}</span></summary>
      ${one.lines.length > 0 ? html`<${Diff} lines=${one.lines} label=${`what version ${one.number} changed`} />` : html`<pre class="code whole" tabindex="0" role="group" aria-label=${`version ${one.number}`}><code>${one.text}</code></pre>`}
    </details>`)}
  </section>`;
}

/** @param {import("./notes.js").Version} version */
function changes({ lines, changed }) {
  const count = (/** @type {string} */ sign) => lines.filter((one) => one.sign === sign).length;
  const text = lines.length ? `+${count("+")} −${count("-")} lines` : "";
  return [text, changed.map((one) => FIELDS[one] ?? one).join(", ")].filter(Boolean).join("; ") || "nothing but its times";
}
