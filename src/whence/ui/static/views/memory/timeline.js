// When notes are from: a lane for each project, a step of the calendar for each column; a column narrows the list to its days.
import { change } from "../../lib/address.js";
import { html, useMemo, useState } from "../../lib/dom.js";
import { counted } from "../../lib/parts.js";

/** @typedef {import("./notes.js").Day} Day */
/** @typedef {{first: string, last: string, label: string, mark: string, lanes: Map<string, Day>, sum: Day}} Column */

const MOST_LANES = 6;
const OTHERS = "others";
/** Less of a dot cannot be seen. */
const LEAST_SHARE = 1 / 3;
/** Columns are steps of so many days or months: the smallest with which all fit. @type {[string, number][]} */
const STEPS = [["days", 1], ["days", 7], ["months", 1], ["months", 3], ["months", 12], ["months", 60], ["months", 1200]];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** @param {{days: Day[], since: string, until: string, narrow: boolean}} props */
export function Timeline({ days, since, until, narrow }) {
  const { columns, lanes } = useMemo(() => laidOut(days, narrow ? 14 : 54), [days, narrow]);
  const [at, setAt] = useState(0);
  if (columns.length < 2) return html`<${Chosen} since=${since} until=${until} />`;
  const most = Math.max(...columns.flatMap((one) => [...one.lanes.values()].map(total)));
  const chosen = (/** @type {Column} */ one) => Boolean(since || until) && (!since || one.last >= since) && (!until || one.first <= until);
  const choose = (/** @type {Column} */ one, /** @type {boolean} */ farther) => {
    const only = columns.filter(chosen);
    if (only.length === 1 && only[0] === one) return change({ since: null, until: null }, { step: true });
    const span = farther && only.length ? [...only, one] : [one];
    change({ since: span.map((each) => each.first).sort()[0], until: span.map((each) => each.last).sort().at(-1) }, { step: true });
  };
  const walk = (/** @type {KeyboardEvent} */ event) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(columns.length - 1, at + by));
    setAt(next);
    const place = event.currentTarget instanceof Element ? event.currentTarget.querySelectorAll("button")[next] : null;
    place?.focus();
  };
  return html`<section class="timeline" aria-label="When notes are from">
    <div class="lanes" aria-hidden="true">${lanes.map((one) => html`<span>${one || "no project"}</span>`)}</div>
    <div class="days" role="toolbar" aria-label="Days; hold Shift to take more of them" onKeyDown=${walk}>
      ${columns.map((one, place) => html`<button key=${one.first} tabindex=${place === Math.min(at, columns.length - 1) ? 0 : -1} aria-pressed=${chosen(one)} aria-label=${`${one.label}: ${said(one.sum)}`} title=${`${one.label}: ${said(one.sum)}`}
        onFocus=${() => setAt(place)} onClick=${(/** @type {MouseEvent} */ event) => choose(one, event.shiftKey)}>
        ${lanes.map((lane) => html`<span class="cell"><${Dot} day=${one.lanes.get(lane)} most=${most} /></span>`)}
        <span class="mark">${one.mark}</span>
      </button>`)}
    </div>
    <div class="beneath"><${Chosen} since=${since} until=${until} /><p class="legend" aria-hidden="true">${["fresh", "stale", "archived"].map((one) => html`<span><i class=${one}></i>${one}</span>`)}</p></div>
  </section>`;
}

/** The days that the list is narrowed to. @param {{since: string, until: string}} props */
function Chosen({ since, until }) {
  if (!since && !until) return null;
  const days = since === until ? since : `${since || "…"} – ${until || "…"}`;
  return html`<p class="chosen">${days} <button class="plain" onClick=${() => change({ since: null, until: null }, { step: true })}>All days</button></p>`;
}

/** @param {{day: Day | undefined, most: number}} props */
function Dot({ day, most }) {
  if (!day) return null;
  const all = total(day);
  const size = 0.4 + 0.6 * Math.sqrt(all / most);
  // However few of many, what is stale shows.
  const [stale, archived] = [day.stale, day.archived].map((count) => (count ? Math.max(count / all, LEAST_SHARE) * 100 : 0));
  return html`<i style=${`width:${size}rem;height:${size}rem;--stale:${stale}%;--archived:${archived}%`}></i>`;
}

/** @param {Day} day */
function total(day) {
  return day.fresh + day.stale + day.archived;
}

/** @param {Day} day */
function said(day) {
  const parts = [day.stale && `${day.stale} stale`, day.archived && `${day.archived} archived`].filter(Boolean);
  return [counted(total(day), "note"), ...parts].join(", ");
}

/** @param {Day[]} days @param {number} most columns @returns {{columns: Column[], lanes: string[]}} */
function laidOut(days, most) {
  if (!days.length) return { columns: [], lanes: [] };
  const [first, last] = [days[0].day, days[days.length - 1].day];
  const [unit, size] = STEPS.find(([unit, size]) => stepOf(last, unit, size) - stepOf(first, unit, size) < most) ?? STEPS[STEPS.length - 1];
  const begin = stepOf(first, unit, size);
  const columns = Array.from({ length: stepOf(last, unit, size) - begin + 1 }, (_, place) => columnOf(begin + place, unit, size));
  const sums = /** @type {Map<string, number>} */ (new Map());
  for (const one of days) sums.set(one.project, (sums.get(one.project) ?? 0) + total(one));
  const projects = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const own = projects.length > MOST_LANES ? projects.slice(0, MOST_LANES - 1) : projects;
  for (const one of days) {
    const column = columns[stepOf(one.day, unit, size) - begin];
    const lane = own.includes(one.project) ? one.project : OTHERS;
    column.lanes.set(lane, added(column.lanes.get(lane), one));
    column.sum = added(column.sum, one);
  }
  return { columns, lanes: own.length < projects.length ? [...own, OTHERS] : own };
}

/** @param {Day | undefined} sum @param {Day} one @returns {Day} */
function added(sum, one) {
  return { ...one, fresh: (sum?.fresh ?? 0) + one.fresh, stale: (sum?.stale ?? 0) + one.stale, archived: (sum?.archived ?? 0) + one.archived };
}

/** The number of the step that a day is in. @param {string} day @param {string} unit @param {number} size */
function stepOf(day, unit, size) {
  const [year, month] = day.split("-").map(Number);
  return unit === "months" ? Math.floor((year * 12 + month - 1) / size) : Math.floor((Date.parse(day) / 86_400_000 + 3) / size); // weeks begin on Mondays
}

/** @param {number} step @param {string} unit @param {number} size @returns {Column} */
function columnOf(step, unit, size) {
  const made = { lanes: new Map(), sum: { day: "", project: "", fresh: 0, stale: 0, archived: 0 } };
  if (unit === "days") {
    const [first, last] = [step * size, step * size + size - 1].map((one) => new Date((one - 3) * 86_400_000).toISOString().slice(0, 10));
    const opens = size === 1 ? first.endsWith("-01") : Number(first.slice(8)) <= 7;
    return { ...made, first, last, label: first === last ? first : `${first} to ${last}`, mark: opens ? MONTHS[Number(first.slice(5, 7)) - 1] : "" };
  }
  const [from, to] = [step * size, step * size + size - 1];
  const [year, month] = [Math.floor(from / 12), from % 12];
  const last = new Date(Date.UTC(Math.floor(to / 12), (to % 12) + 1, 0)).toISOString().slice(0, 10);
  const first = `${String(year).padStart(4, "0")}-${String(month + 1).padStart(2, "0")}-01`;
  const label = size === 1 ? `${MONTHS[month]} ${year}` : size < 12 ? `${MONTHS[month]} to ${MONTHS[to % 12]} ${year}` : size === 12 ? `${year}` : `${year} to ${Math.floor(to / 12)}`;
  return { ...made, first, last, label, mark: month === 0 || size >= 12 ? `${year}` : MONTHS[month] };
}
