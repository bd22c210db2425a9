// The index: what is in it and what is not, how large it is and made how, whether it is well, and what was last done to it.
import { linkTo } from "../lib/address.js";
import { get, post } from "../lib/api.js";
import { useAnswer } from "../lib/asking.js";
import { html, useEffect, useState } from "../lib/dom.js";
import { useKeys } from "../lib/keys.js";
import { bytes, Dialog, indexed, Progress, still, uncommitted, Wrong } from "../lib/parts.js";
import { DiskUse } from "./index/disk.js";
import { FileList, focusFilter } from "./index/files.js";
import { Health } from "./index/health.js";
import { Languages } from "./index/languages.js";
import { LeftOut } from "./index/left_out.js";
import { Model } from "./index/model.js";
import { Runs } from "./index/runs.js";

/** @typedef {{building: boolean, share: number, missing: number}} Standing */
/** @typedef {import("../lib/parts.js").Fresh} Fresh */
/** @typedef {{files: number, units: number, lines: number, source_bytes: number, index_bytes: number, directory: string, disk: import("./index/disk.js").DiskPart[], languages: import("./index/languages.js").Language[], left_out: {reason: string, count: number}[], segments: number, commits: number, made_with: string, model: any, settings: any[], fresh: Fresh, notes: string[]}} Held */
/** @typedef {{root: string, path: string, progress: Standing, trouble: string, held: Held | null, runs: import("./index/runs.js").Run[]}} IndexAnswer */

/** How often an index that is being built is asked again, in milliseconds. */
const PATIENCE = 500;

/** @param {import("../app.js").ViewProps} props */
export function IndexView({ roots, root, params }) {
  const [again, setAgain] = useState(0);
  const { answer, error } = useAnswer({ root }, (asked, signal) => get("index", asked, signal), again);
  const { begin, beginning, refused } = useRefresh(root, () => setAgain((count) => count + 1));
  const building = answer?.progress.building ?? false;
  useEffect(() => {
    if (!building) return;
    const timer = setTimeout(() => setAgain((count) => count + 1), PATIENCE);
    return () => clearTimeout(timer);
  }, [building, again, answer]);
  const busy = building || beginning;
  useKeys([
    { key: "r", does: "refresh the index", run: () => void (busy || begin(false)) },
    { key: "/", does: "to the filter of files", run: focusFilter },
  ]);
  if (!answer) return html`<main>${error ? html`<${Wrong} error=${error} />` : html`<p class="wait">Looking …</p>`}</main>`;
  return html`<main class="index">
    <${Head} answer=${answer} roots=${roots} begin=${begin} busy=${busy} beginning=${beginning} />
    <${Wrong} error=${refused ?? error} />
    ${answer.held ? html`<${Sections} answer=${answer} held=${answer.held} params=${params} building=${building} settled=${building ? -answer.held.files : again} />` : html`<p class="empty">Nothing is indexed yet.</p>`}
  </main>`;
}

/** Begins to bring an index up to date, or to build it anew. @param {string} root @param {() => void} done */
function useRefresh(root, done) {
  const [state, set] = useState(/** @type {{beginning: boolean, refused: unknown}} */ ({ beginning: false, refused: null }));
  const begin = async (/** @type {boolean} */ force) => {
    set({ beginning: true, refused: null });
    try {
      await post("index/refresh", { root, force });
      set({ beginning: false, refused: null });
    } catch (refused) {
      set({ beginning: false, refused });
    }
    done();
  };
  return { ...state, begin };
}

/** @param {{answer: IndexAnswer, roots: import("../app.js").Root[], begin: (force: boolean) => void, busy: boolean, beginning: boolean}} props */
function Head({ answer, roots, begin, busy, beginning }) {
  const [sure, setSure] = useState(false);
  const { held, progress } = answer;
  return html`<header class="index-head">
    <div>
      <h1>${answer.root}</h1>
      <p class="dim path">${answer.path}</p>
      ${roots.length > 1 &&
      html`<nav class="others" aria-label="Indexes">${roots.map(
        (one) => html`<a href=${linkTo("/index", { root: one.name })} aria-current=${one.name === answer.root ? "true" : undefined}>${one.name}</a>`,
      )}</nav>`}
    </div>
    <div class="doing">
      <button class="main" onClick=${() => begin(false)} disabled=${busy} title="r">${beginning ? "Looking …" : "Refresh"}</button>
      <button onClick=${() => setSure(true)} disabled=${busy}>Build anew …</button>
    </div>
    <div class="standing" role="status">
      ${progress.building ? html`<${Progress} label="being indexed" share=${progress.share} />` : held && html`<${Freshness} fresh=${held.fresh} />`}
      ${answer.trouble && html`<p class="wrong">The last build failed: ${answer.trouble}</p>`}
      ${(held?.notes ?? []).map((note) => html`<p class="warning">${note}</p>`)}
    </div>
    ${sure && html`<${Anew} close=${() => setSure(false)} begin=${begin} />`}
  </header>`;
}

/** @param {{close: () => void, begin: (force: boolean) => void}} props */
function Anew({ close, begin }) {
  const go = () => {
    close();
    begin(true);
  };
  return html`<${Dialog} title="Build anew" close=${close}>
    <p>The index is removed and every file is read again, as <code>whence index --force</code> does. Until that is done, answers come from what has been read so far.</p>
    <p>Source files, notes and what was learned from use are not touched.</p>
    <div class="row"><button class="main" onClick=${go}>Build anew</button><button onClick=${close}>Leave it</button></div>
  <//>`;
}

/** @param {{fresh: Fresh}} props */
function Freshness({ fresh }) {
  return html`<p>
    <span class=${fresh.fresh ? "good" : "warning"}>${fresh.fresh ? "●" : "○"} ${still(fresh)}</span>
    <span class="dim"> · ${indexed(fresh)} · ${fresh.commit ? html`commit <code>${fresh.commit.slice(0, 10)}</code>${fresh.branch && ` on ${fresh.branch}`}${uncommitted(fresh)}` : "no commit"}</span>
  </p>`;
}

/** `settled` changes when lists are to be asked for again. @param {{answer: IndexAnswer, held: Held, params: URLSearchParams, building: boolean, settled: number}} props */
function Sections({ answer, held, params, building, settled }) {
  const { root } = answer;
  return html`
    <${Figures} held=${held} />
    <div class="index-grid">
      <div class="stack">
        <${Languages} languages=${held.languages} params=${params} />
        <${Health} root=${root} building=${building} settled=${settled} />
      </div>
      <div class="stack">
        <${DiskUse} disk=${held.disk} total=${held.index_bytes} directory=${held.directory} />
        <${LeftOut} root=${root} reasons=${held.left_out} settled=${settled} />
        <${Runs} runs=${answer.runs} />
        <${Model} model=${held.model} settings=${held.settings} madeWith=${held.made_with} />
      </div>
    </div>
    <${FileList} root=${root} params=${params} languages=${held.languages.map((one) => one.language)} settled=${settled} />
  `;
}

/** @param {{held: Held}} props */
function Figures({ held }) {
  /** @type {[string, string, string][]} */
  const figures = [
    [held.files.toLocaleString("en"), "files", ""],
    [held.units.toLocaleString("en"), "units", "definitions and the text between them"],
    [held.lines.toLocaleString("en"), "lines", ""],
    [bytes(held.source_bytes), "of source", ""],
    [bytes(held.index_bytes), "of index", held.source_bytes ? `${(held.index_bytes / held.source_bytes).toFixed(1)} times the source` : ""],
    [held.model.passages.toLocaleString("en"), "passages", "pieces of source with a vector"],
    [held.commits.toLocaleString("en"), "commits", "whose messages point at files"],
  ];
  return html`<dl class="figures">${figures.map(
    ([value, name, title]) => html`<div title=${title}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}
