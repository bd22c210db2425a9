// Which symbol, and how much around it: a field that completes names, and what is followed how far.
import { change } from "../../lib/address.js";
import { get } from "../../lib/api.js";
import { useAnswer } from "../../lib/asking.js";
import { html, useEffect, useRef, useState } from "../../lib/dom.js";
import { counted } from "../../lib/parts.js";

/** @typedef {import("./offers.js").Offer} Offer */

const DEPTHS = [1, 2, 3, 4];
const SIZES = [20, 60, 120, 250, 500];
/** As the server has them where nothing is asked for. */
const USUAL = { depth: "2", most: "60" };
const GROUPS = [
  ["calls", "calls"],
  ["inheritance", "inheritance"],
  ["tests", "tests"],
  ["contains", "members"],
  ["other", "other uses"],
];
const MOST_OFFERED = 12;

export function focusSymbol() {
  const field = document.getElementById("symbol");
  if (!(field instanceof HTMLInputElement)) return;
  field.focus();
  field.select();
}

/** @param {{symbol: string, name: string, root: string, params: URLSearchParams, walk: (key: string) => void}} props */
export function Asking({ symbol, name, root, params, walk }) {
  return html`<section class="asking" aria-label="Which symbol">
    <${SymbolField} symbol=${symbol} name=${name} root=${root} walk=${walk} />
    <div class="row">
      <${Choice} name="depth" label="Hops" values=${DEPTHS} params=${params} />
      <${Choice} name="most" label="Symbols" values=${SIZES} params=${params} />
      <${Groups} params=${params} />
    </div>
  </section>`;
}

/** @param {{name: "depth" | "most", label: string, values: number[], params: URLSearchParams}} props */
function Choice({ name, label, values, params }) {
  const now = params.get(name) ?? USUAL[name];
  const choose = (/** @type {Event & {currentTarget: HTMLSelectElement}} */ event) => change({ [name]: event.currentTarget.value === USUAL[name] ? null : event.currentTarget.value });
  return html`<label>${label} <select value=${now} onChange=${choose}>${values.map((one) => html`<option value=${String(one)}>${one}</option>`)}</select></label>`;
}

/** @param {{params: URLSearchParams}} props */
function Groups({ params }) {
  const on = new Set((params.get("groups") ?? "").split(",").filter(Boolean));
  const all = on.size === 0;
  const toggle = (/** @type {string} */ group) => {
    const next = GROUPS.map(([id]) => id).filter((id) => (id === group ? !(all || on.has(id)) : all || on.has(id)));
    change({ groups: next.length === 0 || next.length === GROUPS.length ? null : next.join(",") });
  };
  return html`<fieldset class="groups"><legend>Follow</legend>
    ${GROUPS.map(([id, label]) => html`<label key=${id}><input type="checkbox" checked=${all || on.has(id)} onChange=${() => toggle(id)} /> ${label}</label>`)}
  </fieldset>`;
}

/**
 * Completes names as they are typed; Enter takes what is chosen, or the text as it stands.
 * @param {{symbol: string, name: string, root: string, walk: (key: string) => void}} props
 */
function SymbolField({ symbol, name, root, walk }) {
  const [draft, set] = useState(/** @type {string | null} */ (null)); // null: nothing is being typed
  const [at, setAt] = useState(-1);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => {
    if (!symbol) field.current?.focus();
  }, []);
  useEffect(() => set(null), [symbol]);
  const { answer } = useAnswer(draft ? { text: draft, root, most: MOST_OFFERED } : null, (one, signal) => get("symbols", one, signal));
  /** @type {Offer[]} */
  const offers = draft && answer ? answer.symbols : [];
  const take = (/** @type {string} */ key) => {
    set(null);
    field.current?.blur();
    walk(key);
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by) setAt((at + by + offers.length + 1) % (offers.length + 1 || 1));
    else if (event.key === "Enter" && draft) take(offers[at]?.key ?? draft);
    else if (event.key === "Escape" && draft !== null) set(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<div class="symbol-field">
    <label for="symbol">Symbol</label>
    <input
      id="symbol"
      ref=${field}
      role="combobox"
      aria-expanded=${offers.length > 0}
      aria-controls="symbol-offers"
      aria-autocomplete="list"
      aria-activedescendant=${offers[at] ? `offer-${at}` : undefined}
      value=${draft ?? (name || symbol)}
      placeholder="Client.send"
      autocomplete="off"
      autocapitalize="off"
      spellcheck=${false}
      onInput=${(/** @type {InputEvent & {currentTarget: HTMLInputElement}} */ event) => {
        set(event.currentTarget.value);
        setAt(-1);
      }}
      onKeyDown=${onKeyDown}
      onBlur=${() => set(null)}
    />
    <ul id="symbol-offers" role="listbox" aria-label="Symbols of such a name" hidden=${offers.length === 0}>
      ${offers.map(
        (one, place) => html`<li
          key=${one.key}
          id=${`offer-${place}`}
          role="option"
          aria-selected=${place === at}
          onMouseDown=${(/** @type {MouseEvent} */ event) => event.preventDefault()}
          onClick=${() => take(one.key)}
        ><span>${one.name}</span> <span class="dim">${one.kind} · ${one.path}:${one.line}${one.uses ? ` · used by ${counted(one.uses, "symbol")}` : ""}</span></li>`,
      )}
    </ul>
  </div>`;
}
