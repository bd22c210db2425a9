// The colours of a picture, as the sheet gives them for light and dark.

const HUES = 8;
export const OTHERS = HUES;
export const GROUPS = ["calls", "inheritance", "tests", "contains", "other"];

/** How lines of each group are dashed, in pixels. @type {Record<string, number[]>} */
export const DASHES = { calls: [], inheritance: [14, 3], tests: [6, 4], contains: [2, 3], other: [8, 3, 2, 3] };

/** The group by which an edge is drawn. @param {string} group */
export function styleOf(group) {
  return GROUPS.includes(group) ? group : "other";
}

/** How strongly lines stand off the ground: aside from what is chosen, where nothing is, and at what is chosen. */
const STRENGTHS = { faint: 0.35, plain: 0.6, strong: 1 };
/** What the parser is not sure of stands off by so much of that. */
const UNSURE = 0.65;

/** @typedef {keyof typeof STRENGTHS} Strength */
/** @typedef {{ground: string, ink: string, dim: string, accent: string, hues: string[], faded: string[], lines: Map<string, string>}} Colours */

/** The colour of lines in `Colours.lines`. @param {string} group @param {Strength} strength @param {boolean} sure */
export function lineKey(group, strength, sure) {
  return `${group} ${strength} ${sure}`;
}

/**
 * A canvas knows no variables: they are read from an element in the page. Colours are mixed here and drawn opaque,
 * which takes half the time of drawing them half transparent.
 * @param {HTMLElement} probe @returns {Colours}
 */
export function readColours(probe) {
  const read = (/** @type {string} */ name, share = 1) => {
    probe.style.color = `color-mix(in srgb, var(${name}) ${share * 100}%, var(--ground))`;
    return getComputedStyle(probe).color;
  };
  const strengths = /** @type {[Strength, number][]} */ (Object.entries(STRENGTHS));
  return {
    ground: read("--ground"),
    ink: read("--ink"),
    dim: read("--dim"),
    accent: read("--accent"),
    hues: Array.from({ length: HUES + 1 }, (_, place) => read(`--hue-${place}`)),
    faded: Array.from({ length: HUES + 1 }, (_, place) => read(`--hue-${place}`, 0.4)),
    lines: new Map(
      GROUPS.flatMap((group) =>
        strengths.flatMap(([strength, share]) => [true, false].map((sure) => /** @type {[string, string]} */ ([lineKey(group, strength, sure), read(`--edge-${group}`, sure ? share : share * UNSURE)]))),
      ),
    ),
  };
}

/** Be told when the page turns light or dark. @param {() => void} told @returns {() => void} */
export function onColours(told) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = new MutationObserver(told);
  dark.addEventListener("change", told);
  chosen.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => {
    dark.removeEventListener("change", told);
    chosen.disconnect();
  };
}

/**
 * The hue of each folder: the fullest have one of their own, and who had one keeps it while one walks on.
 * @param {{folder: string}[]} nodes @param {Map<string, number>} before
 * @returns {Map<string, number>} the fullest folder first
 */
export function huesOf(nodes, before) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { folder } of nodes) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  const fullest = [...counts].sort(([one, most], [other, more]) => more - most || (one < other ? -1 : 1)).map(([folder]) => folder);
  const coloured = fullest.slice(0, HUES);
  const taken = new Set(coloured.map((folder) => before.get(folder)).filter((hue) => hue !== undefined && hue !== OTHERS));
  const free = Array.from({ length: HUES }, (_, hue) => hue).filter((hue) => !taken.has(hue));
  return new Map(
    fullest.map((folder, place) => {
      if (place >= HUES) return [folder, OTHERS];
      const kept = before.get(folder);
      return [folder, kept === undefined || kept === OTHERS ? (free.shift() ?? OTHERS) : kept];
    }),
  );
}
