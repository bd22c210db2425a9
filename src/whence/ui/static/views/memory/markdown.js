// The text of a note with what is plain to see in Markdown: headings, lists, quotes, code. Everything else stays as it is written.
import { html } from "../../lib/dom.js";

const FENCE = /^\s*(```|~~~)/;
const HEADING = /^(#{1,6})\s+(.*)$/;
const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const QUOTE = /^>\s?(.*)$/;
const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*|(?<![\w*])\*[^*\s][^*\n]*\*(?![\w*]))/;

/** @param {{text: string}} props */
export function Markdown({ text }) {
  const lines = text.replace(/\n+$/, "").split("\n");
  const blocks = [];
  for (let at = 0; at < lines.length; ) {
    const [block, next] = blockAt(lines, at);
    if (block) blocks.push(block);
    at = next;
  }
  return html`<div class="prose">${blocks}</div>`;
}

/** The block that begins at a line, and the line after it. @param {string[]} lines @param {number} at @returns {[unknown, number]} */
function blockAt(lines, at) {
  const line = lines[at];
  if (!line.trim()) return [null, at + 1];
  if (FENCE.test(line)) return fenced(lines, at);
  const heading = HEADING.exec(line);
  if (heading) return [html`<h4 class=${`level-${heading[1].length}`}>${inline(heading[2])}</h4>`, at + 1];
  if (ITEM.test(line)) return listed(lines, at);
  if (QUOTE.test(line)) return run(lines, at, (one) => QUOTE.test(one), (some) => html`<blockquote>${inline(some.map((one) => QUOTE.exec(one)?.[1] ?? "").join("\n"))}</blockquote>`);
  return run(lines, at, (one) => one.trim() !== "" && !isMarked(one), (some) => html`<p>${inline(some.join("\n"))}</p>`);
}

/** @param {string} line */
function isMarked(line) {
  return FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || QUOTE.test(line);
}

/**
 * The lines from one on that belong together.
 * @param {string[]} lines @param {number} at @param {(line: string) => boolean} belongs @param {(some: string[]) => unknown} made
 * @returns {[unknown, number]}
 */
function run(lines, at, belongs, made) {
  let end = at + 1;
  while (end < lines.length && belongs(lines[end])) end += 1;
  return [made(lines.slice(at, end)), end];
}

/** @param {string[]} lines @param {number} at @returns {[unknown, number]} */
function fenced(lines, at) {
  const mark = FENCE.exec(lines[at])?.[1] ?? "```";
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(mark)) end += 1;
  return [html`<pre class="code" tabindex="0" role="group" aria-label="code of the note"><code>${lines.slice(at + 1, end).join("\n")}</code></pre>`, end + 1];
}

/** Items are shown as far in as they are written; lines that go on belong to the item above. @param {string[]} lines @param {number} at @returns {[unknown, number]} */
function listed(lines, at) {
  return run(lines, at, (one) => ITEM.test(one) || (/^\s+\S/.test(one) && !FENCE.test(one)), (some) => {
    /** @type {{deep: number, number: string | undefined, text: string}[]} */
    const items = [];
    for (const one of some) {
      const found = ITEM.exec(one);
      if (found) items.push({ deep: Math.floor(found[1].length / 2), number: found[2], text: found[3] });
      else items[items.length - 1].text += `\n${one.trim()}`;
    }
    return html`<ul>${items.map((one) => html`<li class=${one.number ? "counted" : ""} style=${`margin-left:${Math.min(one.deep, 6)}rem`}>${one.number && `${one.number}. `}${inline(one.text)}</li>`)}</ul>`;
  });
}

/** @param {string} text */
function inline(text) {
  return text.split(INLINE).map((piece, place) => {
    if (place % 2 === 0) return piece;
    if (piece.startsWith("`")) return html`<code>${piece.slice(1, -1)}</code>`;
    return piece.startsWith("**") ? html`<strong>${piece.slice(2, -2)}</strong>` : html`<em>${piece.slice(1, -1)}</em>`;
  });
}
