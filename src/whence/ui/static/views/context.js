// The pack for a task: its budget as a bar, what is shown of each symbol and why, what is left out, a picture, the text.
import { change } from "../lib/address.js";
import { post } from "../lib/api.js";
import { useAnswer } from "../lib/asking.js";
import { html, useEffect, useRef, useState } from "../lib/dom.js";
import { useKeys } from "../lib/keys.js";
import { freshness, Progress, Wrong } from "../lib/parts.js";
import { Asking, budgetBy } from "./context/asking.js";
import { Bars } from "./context/bars.js";
import { LeftOutList, ShownList } from "./context/symbols.js";
import { Tabs } from "./context/tabs.js";
import { PackText } from "./context/text.js";
import { isShown } from "./context/words.js";

/** @typedef {import("./context/words.js").Pack} Pack */
/** @typedef {import("./context/words.js").PackedSymbol} PackedSymbol */
/** @typedef {import("./context/symbols.js").ListProps} ListProps */

/** A longer task does not stand in the address: a server reads no more of one. */
const LONGEST_IN_ADDRESS = 6_000;
/** What the number field shows before anything is asked; the server's own setting holds when nothing is chosen. */
const USUAL_BUDGET = 50_000;
/** How often an index that is being built is asked again, in milliseconds. */
const PATIENCE = 700;

/** @param {import("../app.js").ViewProps} props */
export function ContextView({ roots, root, params }) {
  const { written, wanted, setTask } = useWritten(params, root);
  const { answer, error, busy, again } = usePack(wanted, written.budget, params.get("format") || null);
  useEffect(again, [answer]);
  /** @type {Pack | null} */
  const pack = answer?.pack ?? null;
  const tab = params.get("tab") ?? "symbols";
  const [lit, setLit] = useState("");
  const most = Math.max(...(pack?.symbols ?? []).map((one) => one.tokens), 1);
  const list = { pack, wanted, root: answer?.root ?? root, open: params.get("open") ?? "", panel: params.get("panel") ?? "", most, light: setLit };
  const shown = (pack?.symbols ?? []).filter((one) => isShown(one) === (tab !== "left"));
  useContextKeys(tab === "symbols" || tab === "left" ? shown : [], list.open, list.panel, written.budget ?? pack?.budget ?? USUAL_BUDGET);
  const choose = (/** @type {PackedSymbol} */ symbol) => change({ open: symbol.key, tab: isShown(symbol) ? null : "left" }, { step: true });

  return html`<main class="context" aria-busy=${busy}>
    <h1 class="hidden">Context</h1>
    <${Asking} written=${{ ...written, given: pack?.budget ?? USUAL_BUDGET }} setTask=${setTask} />
    <${Wrong} error=${error} />
    ${answer && html`<${State} answer=${answer} several=${roots.length > 1} />`}
    ${!wanted && html`<p class="empty">Say what is to be done, and see which code that needs and what it costs to read.</p>`}
    ${wanted && !answer && !error && html`<p class="wait" role="status">Packing …</p>`}
    ${pack && !error && html`<${Bars} pack=${pack} lit=${lit} light=${setLit} choose=${choose} /><${Panels} tab=${tab} format=${params.get("format") ?? ""} list=${list} pack=${pack} />`}
  </main>`;
}

/** What the address asks for; nothing where it asks for nothing. @param {URLSearchParams} params @param {string} root */
function useWritten(params, root) {
  const [long, setLong] = useState("");
  const inAddress = params.get("task") ?? "";
  const written = {
    by: params.get("by") ?? "task",
    task: inAddress || long,
    files: params.get("files") ?? "",
    diff: params.get("diff") ?? "",
    profile: params.get("profile") ?? "",
    budget: Number(params.get("budget")) || null,
  };
  const files = written.files.split("\n").map((one) => one.trim()).filter(Boolean);
  const asked = written.by === "files" ? files.length > 0 : written.by === "diff" || written.task.trim() !== "";
  const wanted = {
    task: written.by === "task" ? written.task : "",
    files: written.by === "files" ? files : [],
    diff: written.by === "diff" ? written.diff.trim() || "HEAD" : null,
    profile: written.by === "task" ? written.profile || null : null,
    root,
  };
  const setTask = (/** @type {string} */ task) => {
    const fits = encodeURIComponent(task).length <= LONGEST_IN_ADDRESS;
    setLong(fits ? "" : task);
    change({ task: fits ? task : null, open: null, panel: null });
  };
  return { written, wanted: asked ? wanted : null, setTask };
}

/**
 * @param {import("./context/words.js").Wanted | null} wanted @param {number | null} budget @param {string | null} format
 */
function usePack(wanted, budget, format) {
  const [tries, setTries] = useState(0);
  const found = useAnswer(wanted && { ...wanted, budget, format }, (one, signal) => post("context", one, signal), tries);
  const again = () => {
    if (!found.answer?.progress.building) return;
    const timer = setTimeout(() => setTries((count) => count + 1), PATIENCE);
    return () => clearTimeout(timer);
  };
  return { ...found, again };
}

/** @param {PackedSymbol[]} rows @param {string} open @param {string} panel @param {number} budget */
function useContextKeys(rows, open, panel, budget) {
  const at = useRef(open);
  if (open) at.current = open;
  const move = (/** @type {number} */ by) => {
    const place = rows.findIndex((one) => one.key === at.current);
    const next = rows[place < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, place + by))];
    if (!next) return;
    change({ open: next.key, panel: panel || null });
    const item = [...document.querySelectorAll(".packed > li")].find((one) => one instanceof HTMLElement && one.dataset.key === next.key);
    item?.querySelector("a")?.focus();
  };
  const toggle = (/** @type {string} */ kind) => open && change({ panel: panel === kind ? null : kind }, { step: true });
  useKeys([
    { key: "/", does: "to what is asked", run: () => document.getElementById("asked-text")?.focus() },
    { key: "j", does: "next symbol", run: () => move(1) },
    { key: "k", does: "symbol before", run: () => move(-1) },
    { key: "w", does: "why it is there", run: () => toggle("why") },
    { key: "o", does: "its code", run: () => toggle("code") },
    { key: ">", does: "a larger budget", run: () => change({ budget: budgetBy(budget, 5) }) },
    { key: "<", does: "a smaller budget", run: () => change({ budget: budgetBy(budget, -5) }) },
    ...TABS.map(({ id, key, name }) => ({ key, does: name.toLowerCase(), run: () => change({ tab: id === "symbols" ? null : id }, { step: true }) })),
    { key: "Escape", does: "close, or leave the field", inFields: true, run: () => leave(panel) },
  ]);
}

/** @param {string} panel */
function leave(panel) {
  if (document.activeElement instanceof HTMLTextAreaElement) document.activeElement.blur();
  else if (panel) change({ panel: null }, { step: true });
}

/** @param {{answer: any, several: boolean}} props */
function State({ answer, several }) {
  const { fresh, progress, doubt, root, milliseconds, pack } = answer;
  return html`${doubt && html`<p class="warning" role="status">${doubt}</p>`}
    <div class="states" role="status">
      ${progress.building && html`<${Progress} label="being indexed" share=${progress.share} />`}
      ${fresh && html`<p class="dim">${several && `${root} · `}${freshness(fresh)}</p>`}
      ${pack && html`<p class="dim">packed in ${milliseconds.toFixed(0)} ms</p>`}
    </div>`;
}

const TABS = [
  { id: "symbols", key: "s", name: "Symbols" },
  { id: "left", key: "l", name: "Left out" },
  { id: "picture", key: "p", name: "Picture" },
  { id: "text", key: "t", name: "Text" },
];

/** @param {{tab: string, format: string, list: ListProps, pack: Pack}} props */
function Panels({ tab, format, list, pack }) {
  const { left_out, beyond, ranked } = pack.counts;
  const counts = /** @type {Record<string, string>} */ ({ symbols: ` ${ranked - left_out - beyond}`, left: ` ${(left_out + beyond).toLocaleString("en")}` });
  const tabs = TABS.map(({ id, name }) => ({ id, name: name + (counts[id] ?? "") }));
  return html`<${Tabs} label="The pack" tabs=${tabs} chosen=${tab} choose=${(/** @type {string} */ id) => change({ tab: id === "symbols" ? null : id }, { step: true })} panel="pack" />
    <div id="pack" role="tabpanel" aria-label=${TABS.find((one) => one.id === tab)?.name}>
      ${tab === "text" ? html`<${PackText} pack=${pack} format=${format} />` : tab === "picture" ? html`<${Later} ...${list} />` : tab === "left" ? html`<${LeftOutList} ...${list} />` : html`<${ShownList} ...${list} />`}
    </div>`;
}

/** The picture, which is loaded when it is first looked at. @param {ListProps} props */
function Later(props) {
  const [drawn, set] = useState(/** @type {{Drawn: (props: ListProps) => unknown} | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  useEffect(() => void import("./context/drawn.js").then(set, setError), []);
  if (error) return html`<${Wrong} error=${error} />`;
  return drawn ? html`<${drawn.Drawn} ...${props} />` : html`<p class="wait">Drawing …</p>`;
}
