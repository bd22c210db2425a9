// What the list can be narrowed to, with how many notes there would be.
import { change } from "../../lib/address.js";
import { html } from "../../lib/dom.js";
import { NO_PROJECT } from "./notes.js";

const STATES = ["fresh", "stale", "archived"];
/** More tags than this are shown when they are asked for. */
const MOST_TAGS = 12;

/** @param {{counts: Record<string, Record<string, number>>, params: URLSearchParams, narrow: boolean}} props */
export function Filters({ counts, params, narrow }) {
  const states = Object.fromEntries(STATES.map((one) => [one, counts.states[one] ?? 0]));
  const groups = [
    { name: "State", param: "state", values: states },
    { name: "Project", param: "project", values: Object.fromEntries(Object.entries(counts.projects).map(([name, count]) => [name || NO_PROJECT, count])) },
    { name: "Kind", param: "kind", values: counts.kinds },
    { name: "Tag", param: "tag", values: counts.tags },
  ];
  const shown = groups.map((one) => html`<${Group} ...${one} chosen=${params.get(one.param) ?? ""} />`);
  const any = groups.some((one) => params.get(one.param));
  const clear = any && html`<p><button class="plain" onClick=${() => change({ state: null, project: null, kind: null, tag: null }, { step: true })}>Show all</button></p>`;
  return narrow
    ? html`<details class="facets" open=${any}><summary>Narrow down</summary>${shown}${clear}</details>`
    : html`<aside class="facets" aria-label="Narrow down">${shown}${clear}</aside>`;
}

/** @param {{name: string, param: string, values: Record<string, number>, chosen: string}} props */
function Group({ name, param, values, chosen }) {
  const every = Object.entries(values);
  const first = every.slice(0, MOST_TAGS);
  const rest = every.slice(MOST_TAGS);
  if (!every.length) return null;
  const list = (/** @type {[string, number][]} */ some) => html`<ul>${some.map(([value, count]) => {
    const pressed = value === chosen;
    const label = param === "project" && value === NO_PROJECT ? "no project" : param === "tag" ? `#${value}` : value;
    return html`<li><button class="facet" aria-pressed=${pressed} onClick=${() => change({ [param]: pressed ? null : value }, { step: true })}>
      <span>${label}</span><span class="count">${count}</span></button></li>`;
  })}</ul>`;
  return html`<section><h2>${name}</h2>${list(first)}${rest.length > 0 && html`<details open=${rest.some(([value]) => value === chosen)}><summary>${rest.length} more</summary>${list(rest)}</details>`}</section>`;
}
