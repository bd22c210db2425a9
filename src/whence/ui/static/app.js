// The page: which view is shown, what is in its head, and the keys that hold everywhere.
import { followLink, go, linkTo, useAddress } from "./lib/address.js";
import { get, keepToken, onRefused, takeToken } from "./lib/api.js";
import { useAnswer } from "./lib/asking.js";
import { html, render, useEffect, useState } from "./lib/dom.js";
import { bound, isField, useKeys } from "./lib/keys.js";
import { Dialog, Wrong } from "./lib/parts.js";
import { SearchView } from "./views/search.js";

/** @typedef {{name: string, path: string}} Root */
/** @typedef {{roots: Root[], root: string, fleet: boolean, params: URLSearchParams}} ViewProps */

/**
 * Views but the first are loaded when they are first shown.
 * @type {{path: string, key: string, name: string, load: () => Promise<(props: ViewProps) => unknown>}[]}
 */
const VIEWS = [
  { path: "/", key: "1", name: "Search", load: async () => SearchView },
  { path: "/compare", key: "2", name: "Compare", load: async () => (await import("./views/compare.js")).CompareView },
  { path: "/graph", key: "3", name: "Graph", load: async () => (await import("./views/graph.js")).GraphView },
  { path: "/context", key: "4", name: "Context", load: async () => (await import("./views/context.js")).ContextView },
  { path: "/memory", key: "5", name: "Memory", load: async () => (await import("./views/memory.js")).MemoryView },
  { path: "/index", key: "6", name: "Index", load: async () => (await import("./views/index.js")).IndexView },
];

/** @type {Map<string, (props: ViewProps) => unknown>} */
const loaded = new Map([["/", SearchView]]);

/** @param {{path: string, props: ViewProps}} props */
function View({ path, props }) {
  const [, again] = useState(0);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const view = VIEWS.find((one) => one.path === path);
  useEffect(() => {
    if (!view || loaded.has(path)) return;
    view.load().then((found) => {
      loaded.set(path, found);
      again((count) => count + 1);
    }, setError);
  }, [path]);
  const Shown = loaded.get(path);
  if (error) return html`<main><${Wrong} error=${error} /></main>`;
  return Shown ? html`<${Shown} ...${props} key=${path} />` : html`<main class="wait">Opening …</main>`;
}

const THEMES = ["auto", "light", "dark"];

function Theme() {
  const [theme, set] = useState(() => localStorage.getItem("whence-theme") ?? "auto");
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem("whence-theme", theme);
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  return html`<button class="plain" onClick=${() => set(next)} aria-label=${`Colours: ${theme}; change to ${next}`} title=${`colours: ${theme}`}>
    ${theme === "light" ? "☀" : theme === "dark" ? "☾" : "◐"}
  </button>`;
}

/** @param {{close: () => void}} props */
function Help({ close }) {
  const named = /** @type {Record<string, string>} */ ({ " ": "Space", ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc" });
  return html`<${Dialog} title="Keys" close=${close}>
    <dl class="keys">${bound().map((one) => html`<dt><kbd>${named[one.key] ?? one.key}</kbd></dt><dd>${one.does}</dd>`)}</dl>
    <p>A query may hold <code>"phrases"</code>, <code>/regex/</code>, <code>-not</code>, <code>OR</code>, parentheses,
      <code>path:</code> <code>lang:</code> <code>kind:</code> <code>sym:</code> <code>callers:</code> <code>callees:</code> and <code>in:docs</code>.</p>
  <//>`;
}

/** Asks for the token, where the page was opened without it. @param {{done: () => void}} props */
function Token({ done }) {
  const submit = (/** @type {SubmitEvent & {currentTarget: HTMLFormElement}} */ event) => {
    event.preventDefault();
    const given = String(new FormData(event.currentTarget).get("token") ?? "").trim();
    keepToken(/token=([\w-]+)/.exec(given)?.[1] ?? given);
    done();
  };
  return html`<main class="narrow">
    <h1>This page needs its token</h1>
    <p>Open the link that <code>whence ui</code> printed, or paste it here. A token holds until that process ends.</p>
    <form onSubmit=${submit} class="row"><label class="grow">Link or token <input name="token" autocomplete="off" autofocus required /></label><button>Open</button></form>
  </main>`;
}

function leaveField() {
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

function Page() {
  const { view, params } = useAddress();
  const [allowed, setAllowed] = useState(takeToken);
  const [tries, setTries] = useState(0);
  const [help, setHelp] = useState(false);
  useEffect(() => {
    const forget = onRefused(() => setAllowed(false));
    return () => void forget();
  }, []);
  const { answer, error } = useAnswer(allowed ? { tries } : null, (_, signal) => get("roots", {}, signal));
  /** @type {Root[]} */
  const roots = answer?.roots ?? [];
  const root = params.get("root") ?? "";
  useEffect(() => {
    const name = VIEWS.find((one) => one.path === view)?.name;
    const asked = params.get("q") ?? params.get("symbol") ?? params.get("task");
    document.title = [asked, name, "whence"].filter(Boolean).join(" · ");
  });
  useKeys([
    { key: "?", does: "show the keys", run: () => setHelp(true) },
    { key: "Escape", does: "out of the field", inFields: true, when: () => isField(document.activeElement), run: leaveField },
    ...VIEWS.map((one) => ({ key: one.key, does: one.name.toLowerCase(), run: () => go(linkTo(one.path, { root })) })),
  ]);
  const choose = (/** @type {Event & {currentTarget: HTMLSelectElement}} */ event) => {
    const kept = Object.fromEntries([...params].filter(([name]) => name !== "root"));
    go(linkTo(view, { ...kept, root: event.currentTarget.value }));
  };
  return html`
    <a class="skip" href="#content">To the content</a>
    <header class="top">
      <a class="brand" href="/">whence</a>
      <nav aria-label="Views">
        ${VIEWS.map((one) => html`<a href=${linkTo(one.path, { root })} aria-current=${one.path === view ? "page" : undefined}>${one.name}</a>`)}
      </nav>
      ${roots.length > 1 &&
      html`<label class="roots"><span class="hidden">Repository</span>
        <select value=${root} onChange=${choose}>
          <option value="">all ${roots.length} repositories</option>
          ${roots.map((one) => html`<option value=${one.name}>${one.name}</option>`)}
        </select></label>`}
      <${Theme} />
      <button class="plain" onClick=${() => setHelp(true)} aria-label="Keys" title="keys">?</button>
    </header>
    <div id="content" tabindex="-1">
      ${!allowed
        ? html`<${Token} done=${() => { setAllowed(true); setTries(tries + 1); }} />`
        : error && !answer
          ? html`<main><${Wrong} error=${error} /></main>`
          : html`<${View} path=${view} props=${{ roots, root, fleet: answer?.fleet ?? false, params }} />`}
    </div>
    ${help && html`<${Help} close=${() => setHelp(false)} />`}
  `;
}

document.addEventListener("click", followLink);
const place = document.getElementById("page");
if (place) {
  place.replaceChildren();
  render(html`<${Page} />`, place);
}
