// Pieces that several views are made of.
import { ApiError } from "./api.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./dom.js";

/** @typedef {[string, string, boolean]} Run  text, what it is, whether it matched */
/** @typedef {{number: number, runs: Run[]}} CodeLine */

/** Lines of code with their colours. @param {{lines: CodeLine[], lit?: [number, number]}} props */
export function Code({ lines, lit }) {
  let before = 0;
  return html`<pre class="code" tabindex="0" aria-label="code"><code>${lines.map((line) => {
    const gap = before > 0 && line.number > before + 1;
    before = line.number;
    const shown = lit && line.number >= lit[0] && line.number <= lit[1];
    return html`${gap && html`<span class="gap" aria-hidden="true">⋯${"\n"}</span>`}<span
        class=${shown ? "line lit" : "line"}
        data-line=${line.number}
        ><span class="number" aria-hidden="true">${line.number}</span>${line.runs.map(([text, kind, marked]) =>
          marked ? html`<mark class=${kind && `c-${kind}`}>${text}</mark>` : kind ? html`<span class=${`c-${kind}`}>${text}</span>` : text,
        )}${"\n"}</span
      >`;
  })}</code></pre>`;
}

/** What went wrong, and what to do. @param {{error: unknown}} props */
export function Wrong({ error }) {
  if (!error) return null;
  const hint = error instanceof ApiError ? error.hint : "";
  const said = error instanceof Error ? error.message : String(error);
  return html`<p class="wrong" role="alert">${said}${hint && html` <span class="hint">${hint}</span>`}</p>`;
}

/** How far something is. @param {{label: string, share: number}} props */
export function Progress({ label, share }) {
  return html`<div class="progress"><span>${label}</span><progress max="1" value=${share} aria-label=${label}></progress><span>${Math.round(share * 100)} %</span></div>`;
}

/** A number of things in words. @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Bytes in words. @param {number} bytes */
export function bytes(bytes) {
  for (const [unit, size] of /** @type {[string, number][]} */ ([["GB", 1e9], ["MB", 1e6], ["kB", 1e3]])) {
    if (bytes >= size) return `${(bytes / size).toPrecision(3)} ${unit}`;
  }
  return `${bytes} B`;
}

/** A time in words, as seen from now. @param {number} seconds since 1970 */
export function ago(seconds) {
  const past = Math.max(Date.now() / 1000 - seconds, 0);
  for (const [unit, size] of /** @type {[string, number][]} */ ([["d", 86400], ["h", 3600], ["min", 60]])) {
    if (past >= size) return `${Math.round(past / size)} ${unit} ago`;
  }
  return `${Math.round(past)} s ago`;
}

/** @typedef {{commit: string, branch: string, indexed_at: number, changed_files: number, edited_files: number, new_files: number, fresh: boolean, note: string}} Fresh */

/** The uncommitted files of an index, after its commit. @param {Fresh} fresh */
export function uncommitted({ edited_files: edited, new_files: added }) {
  const said = [edited && `${edited} edited`, added && `${added} new`].filter(Boolean).join(" and ");
  return said && ` + ${said} ${edited + added === 1 ? "file" : "files"}`;
}

/** What an answer is of, in words. @param {Fresh} fresh */
export function freshness(fresh) {
  const of = fresh.commit ? `commit ${fresh.commit.slice(0, 10)}${uncommitted(fresh)}` : "no commit";
  return `${of} · ${indexed(fresh)} · ${still(fresh)}`;
}

/** @param {Fresh} fresh */
export function indexed(fresh) {
  return fresh.indexed_at ? `indexed ${ago(fresh.indexed_at)}` : "first build not finished";
}

/** Whether anything changed since. @param {Fresh} fresh */
export function still(fresh) {
  return fresh.changed_files ? `${counted(fresh.changed_files, "file")} changed since` : fresh.note || "up to date";
}

/** Whether the page is as narrow as a phone. */
export function useNarrow(width = 900) {
  const [narrow, set] = useState(() => innerWidth < width);
  useEffect(() => {
    const told = () => set(innerWidth < width);
    addEventListener("resize", told);
    return () => removeEventListener("resize", told);
  }, []);
  return narrow;
}

/**
 * A panel that lies over the page until it is closed; the focus stays in it and then goes back.
 * @param {{title: string, close: () => void, children?: unknown, wide?: boolean}} props
 */
export function Dialog({ title, close, children, wide = false }) {
  const place = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => {
    const dialog = place.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  const onClick = (/** @type {MouseEvent} */ event) => event.target === place.current && close();
  return html`<dialog ref=${place} class=${wide ? "wide" : ""} aria-label=${title} onClick=${onClick} onCancel=${(/** @type {Event} */ event) => {
    event.preventDefault();
    close();
  }}>
    <header><h2>${title}</h2><button class="plain" onClick=${close} aria-label="Close">✕</button></header>
    <div class="body">${children}</div>
  </dialog>`;
}
