// Search as one types: ranked files with their code, what they are of, how sure it is, and why.
import { change, given, linkTo } from "../lib/address.js";
import { post } from "../lib/api.js";
import { useAnswer } from "../lib/asking.js";
import { html, useEffect, useRef, useState } from "../lib/dom.js";
import { useKeys } from "../lib/keys.js";
import { Code, counted, freshness, Progress, useNarrow, Wrong } from "../lib/parts.js";
import { Move, MovedWeights, useMoves } from "./search/moved.js";
import { added, holds, removed, valuesOf } from "./search/operators.js";
import { SourcePanel } from "./search/source.js";
import { WhyPanel } from "./search/why.js";
import { WhyNot } from "./search/why_not.js";
import { factorsOf } from "./search/weights.js";

/** @typedef {import("../lib/parts.js").CodeLine} CodeLine */
/** @typedef {{signal: string, operation: string, contribution: number}} Part */
/** @typedef {{root: string, path: string, name: string, qualified_name: string, kind: string, language: string, sort: string, score: number, best_start_line: number, best_end_line: number, lines: CodeLine[], parts: Part[], warning: string}} Hit */
/** @typedef {{name: string, files: number, fresh: any, progress: {building: boolean, share: number, missing: number}, trouble: string}} RootState */

const MORE = 10;
/** How often an index that is being built is asked again, in milliseconds. */
const PATIENCE = 700;
/** So long after the last key a typist is taken to have stopped. */
const MILLISECONDS_OF_A_PAUSE = 400;

/** @param {import("../app.js").ViewProps} props */
export function SearchView({ roots, root: chosen, fleet: offered, params }) {
  const query = params.get("q") ?? "";
  const k = Number(params.get("k")) || MORE;
  const factors = factorsOf(params.get("w") ?? "");
  const fleet = offered && params.get("fleet") === "1";
  const root = fleet ? "" : chosen; // a fleet has repositories, which the query chooses among
  const [again, setAgain] = useState(0);
  const asked = { query, k, root, factors, profile: params.get("profile") || null, ...(fleet && { fleet }) };
  // The query of a fleet is asked when there is one: its engine refuses an empty one.
  const { answer, error, busy, of } = useAnswer(fleet && !query.trim() ? null : asked, (one, signal) => post("search", { ...one, hurried: true }, signal), again);
  const confidence = useSecondThought(asked, answer?.confidence ?? null, busy || fleet);
  const building = answer?.roots.some((/** @type {RootState} */ one) => one.progress.building) ?? false;
  useEffect(() => {
    if (!building) return;
    const timer = setTimeout(() => setAgain((count) => count + 1), PATIENCE);
    return () => clearTimeout(timer);
  }, [building, again, answer]);
  /** @type {Hit[]} */
  const hits = answer?.results ?? [];
  const [at, setAt] = useState(0);
  useEffect(() => setAt(0), [query, root]);
  const open = fleet ? "" : (params.get("open") ?? ""); // files of a fleet lie elsewhere
  const panel = params.get("panel") === "source" ? "source" : open ? "why" : "";
  const narrow = useNarrow();
  const moves = useMoves(asked, hits);
  useSearchKeys(hits, at, setAt, open, !fleet);

  return html`<main class=${`search ${panel ? "with-panel" : ""}`} aria-busy=${busy} data-of=${of?.query ?? ""}>
    <h1 class="hidden">Search</h1>
    <${SearchBox} query=${query} error=${error} wrongQuery=${of?.query} />
    ${offered && html`<${WholeFleet} on=${fleet} searched=${answer?.repositories ?? 0} />`}
    <${States} roots=${answer?.roots ?? []} several=${roots.length > 1} milliseconds=${answer?.milliseconds} facets=${answer?.facets} />
    ${answer && query && html`<${Sureness} confidence=${confidence} found=${hits.length > 0} />`}
    ${(answer?.notes ?? []).map((/** @type {string} */ note) => html`<p class="note">${note}</p>`)}
    <${MovedWeights} asked=${asked} />
    <div class="columns">
      ${query && answer && html`<${Facets} facets=${answer.facets} query=${query} narrow=${narrow} fleet=${fleet} />`}
      <${Results} hits=${hits} at=${at} setAt=${setAt} open=${open} several=${fleet || roots.length > 1} query=${query} searched=${answer !== null} moves=${moves} fleet=${fleet} />
      ${panel && html`<${Panel} kind=${panel} open=${open} hits=${hits} asked=${asked} />`}
    </div>
    ${hits.length === k && html`<p><button onClick=${() => change({ k: k + MORE })}>More results</button></p>`}
    ${query && answer && !fleet && html`<${WhyNot} root=${root} />`}
  </main>`;
}

/**
 * Where it is in doubt that the answer is here, the files that are not indexed are looked through as well: when the typing pauses, for it takes a moment.
 * @param {import("./search/why.js").Asked} asked @param {any} confidence @param {boolean} busy
 */
function useSecondThought(asked, confidence, busy) {
  const key = JSON.stringify(asked);
  const [settled, settle] = useState("");
  const doubtful = confidence !== null && !confidence.here && !busy;
  useEffect(() => {
    const timer = doubtful ? setTimeout(() => settle(key), MILLISECONDS_OF_A_PAUSE) : 0;
    return () => clearTimeout(timer);
  }, [key, doubtful]);
  const { answer, of } = useAnswer(doubtful && settled === key ? { ...asked, k: 1 } : null, (one, signal) => post("search", one, signal));
  return answer?.confidence && of?.query === asked.query ? answer.confidence : confidence;
}

/** @param {Hit[]} hits @param {number} at @param {(next: number) => void} setAt @param {string} open @param {boolean} here */
function useSearchKeys(hits, at, setAt, open, here) {
  const move = (/** @type {number} */ by) => {
    const next = Math.max(0, Math.min(hits.length - 1, at + by));
    setAt(next);
    const item = document.querySelectorAll(".results > li")[next];
    item?.scrollIntoView({ block: "nearest" });
    const link = item?.querySelector("a");
    if (link instanceof HTMLElement) link.focus({ preventScroll: true });
  };
  const key = here && hits[at] ? keyOf(hits[at]) : "";
  useKeys([
    { key: "/", does: "to the query", run: () => focusQuery() },
    { key: "j", does: "next result", run: () => move(1) },
    { key: "k", does: "result before", run: () => move(-1) },
    { key: "ArrowDown", does: "next result", inFields: true, run: () => (isTyping() ? move(0) : move(1)) },
    { key: "ArrowUp", does: "result before", inFields: true, run: () => (at === 0 ? focusQuery() : move(-1)) },
    { key: "o", does: "open its file", run: () => key && change({ open: key, panel: "source" }, { step: true }) },
    { key: "w", does: "why it is there", run: () => key && change({ open: key, panel: null }, { step: true }) },
    // Out of the query it is left to the page, so that the keys of views work there too.
    { key: "Escape", does: "close; out of the query, or back to it", inFields: true, when: () => open !== "" || !isTyping(), run: () => (open ? change({ open: null, panel: null }, { step: true }) : focusQuery()) },
  ]);
}

function isTyping() {
  return document.activeElement instanceof HTMLInputElement && document.activeElement.id === "query";
}

function focusQuery() {
  const field = document.getElementById("query");
  if (field instanceof HTMLInputElement) {
    field.focus();
    field.select();
  }
}

/** How a hit stands in the address. @param {Hit} hit */
export function keyOf(hit) {
  return `${hit.root}:${hit.path}`;
}

/** @param {{query: string, error: any, wrongQuery: string | undefined}} props */
function SearchBox({ query, error, wrongQuery }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => field.current?.focus(), []);
  const wrong = error && wrongQuery === query;
  return html`<div class="asking" role="search">
    <label class="hidden" for="query">Search</label>
    <input
      id="query"
      ref=${field}
      type="search"
      value=${query}
      placeholder="where are retries configured"
      autocomplete="off"
      autocapitalize="off"
      spellcheck=${false}
      aria-invalid=${wrong ? "true" : undefined}
      aria-describedby=${wrong ? "query-wrong" : undefined}
      onInput=${(/** @type {InputEvent & {currentTarget: HTMLInputElement}} */ event) => change({ q: event.currentTarget.value, k: null, open: null, panel: null })}
    />
    ${wrong &&
    html`<div id="query-wrong">
      ${typeof error.at === "number" && html`<pre class="caret" aria-hidden="true">${query}${"\n"}${" ".repeat(error.at)}^</pre>`}
      <${Wrong} error=${error} />
    </div>`}
  </div>`;
}

/** Where a fleet is set up: whether it is asked, instead of the folders that are served. @param {{on: boolean, searched: number}} props */
function WholeFleet({ on, searched }) {
  const turn = () => change({ fleet: on ? null : "1", open: null, panel: null, k: null }, { step: true });
  return html`<p class="fleet"><label><input type="checkbox" checked=${on} onChange=${turn} /> the whole fleet</label>
    ${on && searched > 0 && html` <span class="dim">${counted(searched, "repository", "repositories")} searched</span>`}</p>`;
}

/** @param {{roots: RootState[], several: boolean, milliseconds?: number, facets: any}} props */
function States({ roots, several, milliseconds, facets }) {
  return html`<div class="states" role="status">
    ${roots.map((one) => {
      const label = several ? `${one.name}: ` : "";
      if (one.trouble) return html`<p class="wrong">${label}${one.trouble}</p>`;
      if (one.progress.building) return html`<${Progress} label=${`${label}being indexed`} share=${one.progress.share} />`;
      return html`<p class="dim">${label}${one.fresh ? `${counted(one.files, "file")} · ${freshness(one.fresh)}` : "not indexed"}</p>`;
    })}
    ${milliseconds !== undefined && facets?.files > 0 && html`<p class="dim">${counted(facets.files, "candidate")} ranked in ${milliseconds.toFixed(0)} ms</p>`}
  </div>`;
}

/** @param {{confidence: {probability: number, line: number, here: boolean, said: string} | null, found: boolean}} props */
function Sureness({ confidence, found }) {
  if (!confidence) return null;
  const { probability, here, said } = confidence;
  return html`<p class=${here ? "sure" : "sure doubtful"}>
    <meter min="0" max="1" low=${confidence.line} value=${probability} aria-label="confidence"></meter>
    ${here ? ` ${probability.toFixed(2)} sure that the answer is here` : ` ${said}${found ? "; the nearest:" : ""}`}
  </p>`;
}

/** @param {{facets: any, query: string, narrow: boolean, fleet: boolean}} props */
function Facets({ facets, query, narrow, fleet }) {
  const groups = [
    { name: "Language", operator: "lang", counts: facets.languages },
    { name: "Kind", operator: "kind", counts: facets.kinds },
    { name: "Folder", operator: "path", counts: facets.folders },
    ...(fleet ? [{ name: "Repository", operator: "repo", counts: facets.repositories }] : []),
  ];
  const shown = html`${groups.map(({ name, operator, counts }) => {
    // What was chosen stays there to be taken back, also where it says nothing any more: all results are of it.
    const chosenOnes = valuesOf(query, operator).map((one) => (operator === "path" ? one.replace(/\/$/, "") : one));
    const values = [...chosenOnes.filter((one) => one && !(one in counts)).map((one) => /** @type {const} */ ([one, facets.files])), ...Object.entries(counts)];
    return (
      values.length > 0 &&
      html`<section><h2>${name}</h2><ul>
        ${values.map(([value, count]) => {
          const term = operator === "path" && !holds(query, operator, value) ? `${value}/` : value;
          const chosen = holds(query, operator, term);
          const next = chosen ? removed(query, operator, term) : added(query, operator, term);
          return html`<li><button class="facet" aria-pressed=${chosen} onClick=${() => change({ q: next, k: null }, { step: true })}>
            <span>${value}</span><span class="count">${count}</span></button></li>`;
        })}
      </ul></section>`
    );
  })}`;
  return narrow ? html`<details class="facets"><summary>Narrow down</summary>${shown}</details>` : html`<aside class="facets" aria-label="Narrow down">${shown}</aside>`;
}

/** @param {{hits: Hit[], at: number, setAt: (at: number) => void, open: string, several: boolean, query: string, searched: boolean, moves: Map<string, number | null>, fleet: boolean}} props */
function Results({ hits, at, setAt, open, several, query, searched, moves, fleet }) {
  if (!query) return html`<div class="empty"><p>Type what you look for: a question, a few words, a name.</p><p class="dim">Press <kbd>?</kbd> for the keys.</p></div>`;
  if (!hits.length) return searched ? html`<p class="empty">Nothing found.</p>` : html`<p class="empty"></p>`;
  const best = Math.max(...hits.map((one) => one.score), 1e-9);
  return html`<ol class="results">
    ${hits.map((hit, place) => {
      const key = keyOf(hit);
      const where = html`${several && html`<span class="dim">${hit.root}/</span>`}${hit.path}:${hit.best_start_line}`;
      const worth = html`<${Glance} parts=${hit.parts} share=${hit.score / best} /> ${hit.score.toFixed(2)}`;
      return html`<li key=${key} class=${place === at ? "at" : ""} onFocusIn=${() => setAt(place)}>
        <h3>
          <${Move} by=${moves.get(key)} />
          ${fleet ? html`<span>${where}</span>` : html`<a href=${linkTo("/", { ...given(), open: key, panel: "source" })} aria-current=${open === key ? "true" : undefined}>${where}</a>`}
          ${hit.name && html`<span class="unit"><span class="dim">${hit.kind}</span> ${fleet ? hit.qualified_name : html`<a href=${linkTo("/graph", { root: hit.root, symbol: `${hit.path}#${hit.qualified_name}` })} title="its neighbourhood">${hit.qualified_name}</a>`}</span>`}
          <span class="tags"><span class="tag">${hit.language}</span>${hit.sort !== "code" && html`<span class="tag">${hit.sort}</span>`}</span>
          ${fleet
            ? html`<span class="why">${worth}</span>`
            : html`<button class="why" aria-expanded=${open === key} onClick=${() => change({ open: open === key ? null : key, panel: null }, { step: true })} aria-label=${`Why ${hit.path} has ${hit.score.toFixed(2)}`}>
                ${worth} why
              </button>`}
        </h3>
        ${hit.warning && html`<p class="warning">${hit.warning}</p>`}
        <${Code} lines=${hit.lines} />
      </li>`;
    })}
  </ol>`;
}

/** What a score is made of, at a glance: what speaks for a file as one bar. @param {{parts: Part[], share: number}} props */
function Glance({ parts, share }) {
  const adding = parts.filter((one) => one.operation === "+" && one.contribution > 0).sort((a, b) => b.contribution - a.contribution);
  const total = adding.reduce((sum, one) => sum + one.contribution, 0) || 1;
  return html`<span class="glance" aria-hidden="true"><span style=${`width:${Math.max(share, 0.02) * 100}%`}>${adding.map(
    (one, place) => html`<i style=${`flex:${one.contribution / total}`} class=${`shade-${Math.min(place, 5)}`} title=${one.signal}></i>`,
  )}</span></span>`;
}

/** @param {{kind: string, open: string, hits: Hit[], asked: any}} props */
function Panel({ kind, open, hits, asked }) {
  const hit = hits.find((one) => keyOf(one) === open);
  const [root, path] = [open.slice(0, open.indexOf(":")), open.slice(open.indexOf(":") + 1)];
  const close = () => change({ open: null, panel: null }, { step: true });
  return html`<aside class="panel" aria-label=${kind === "why" ? "Why" : "Source"}>
    <header>
      <div role="tablist" aria-label="About the result">
        <button role="tab" aria-selected=${kind === "why"} onClick=${() => change({ panel: null })}>Why</button>
        <button role="tab" aria-selected=${kind === "source"} onClick=${() => change({ panel: "source" })}>Source</button>
      </div>
      <button class="plain" onClick=${close} aria-label="Close">✕</button>
    </header>
    ${kind === "why"
      ? html`<${WhyPanel} asked=${asked} root=${root} path=${path} key=${open} />`
      : html`<${SourcePanel} root=${root} path=${path} lit=${hit ? [hit.best_start_line, hit.best_end_line] : undefined} key=${open} />`}
  </aside>`;
}
