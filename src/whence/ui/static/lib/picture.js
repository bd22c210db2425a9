// A graph as a picture: nodes by size and folder, edges by what they say; it can be moved, chosen from and walked.
import { html, useEffect, useLayoutEffect, useMemo, useRef } from "./dom.js";
import { useKeys } from "./keys.js";
import { counted } from "./parts.js";
import { DASHES, GROUPS, huesOf, OTHERS, styleOf } from "./picture/colours.js";
import { Stage } from "./picture/stage.js";

/** @typedef {import("./picture/layout.js").PictureNode} PictureNode */
/** @typedef {import("./picture/layout.js").PictureEdge} PictureEdge */
/** @typedef {{nodes: PictureNode[], edges: PictureEdge[], focus: string, chosen: string, onChoose: (id: string) => void, onWalk: (id: string) => void, label: string}} PictureProps */

const STEP = 60;
const CLOSER = 1.3;

/**
 * `onChoose(id)` is told of a click or a key that chooses, `onWalk(id)` of Enter or a double click. What the canvas
 * shows must stand beside it as text, too: here it is only an image with a label.
 * @param {PictureProps} props
 */
export function Picture({ nodes, edges, focus, chosen, onChoose, onWalk, label }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const stage = useRef(/** @type {Stage | null} */ (null));
  const told = useRef({ choose: onChoose, walk: onWalk });
  Object.assign(told.current, { choose: onChoose, walk: onWalk });
  const shown = useMemo(() => JSON.stringify([nodes, edges, focus]), [nodes, edges, focus]);
  const hues = useRef(/** @type {Map<string, number>} */ (new Map()));
  hues.current = useMemo(() => huesOf(nodes, hues.current), [shown]);

  useLayoutEffect(() => {
    const canvas = place.current?.querySelector("canvas");
    const probe = place.current?.querySelector("i");
    if (!canvas || !probe) return;
    const made = (stage.current = new Stage(canvas, probe, told.current));
    return () => made.close();
  }, []);
  useEffect(() => stage.current?.show(nodes, edges, focus, hues.current), [shown]);
  useEffect(() => stage.current?.choose(chosen), [chosen, shown]);
  usePictureKeys(place, stage, nodes, chosen, told.current);

  return html`<figure class="picture" ref=${place}>
    <div class="stage" tabindex="0" role="group" aria-label="Picture of the graph; press ? for its keys">
      <canvas role="img" aria-label=${label}></canvas>
      <i hidden></i>
    </div>
    <${Tools} stage=${stage} />
    <${Legend} nodes=${nodes} edges=${edges} hues=${hues.current} />
    <p class="hidden" aria-live="polite">${said(nodes, edges, chosen)}</p>
  </figure>`;
}

/** @param {PictureNode[]} nodes @param {PictureEdge[]} edges @param {string} chosen */
function said(nodes, edges, chosen) {
  const at = nodes.findIndex((node) => node.id === chosen);
  if (at < 0) return "";
  const joined = edges.filter((edge) => edge.source === chosen || edge.target === chosen).length;
  return `${nodes[at].label}, ${at + 1} of ${nodes.length}, in ${nodes[at].folder || "no folder"}, ${counted(joined, "edge")}`;
}

/**
 * @param {{current: HTMLElement | null}} place @param {{current: Stage | null}} stage @param {PictureNode[]} nodes @param {string} chosen
 * @param {import("./picture/stage.js").Told} told
 */
function usePictureKeys(place, stage, nodes, chosen, told) {
  const inside = () => place.current?.querySelector(".stage") === document.activeElement;
  const free = () => inside() || document.activeElement === document.body;
  const next = (/** @type {number} */ by) => {
    const at = nodes.findIndex((node) => node.id === chosen);
    const node = nodes[(at + by + nodes.length) % nodes.length];
    if (node) told.choose(node.id);
  };
  const arrow = (/** @type {string} */ name, /** @type {string} */ side, /** @type {number} */ dx, /** @type {number} */ dy) => ({
    key: `Arrow${name}`,
    does: `move the picture; with Shift, choose what is nearest ${side}`,
    when: inside,
    run: (/** @type {KeyboardEvent} */ event) => {
      if (!event.shiftKey) return stage.current?.moveBy((camera) => camera.pan(-dx * STEP, -dy * STEP));
      const spot = stage.current?.toward(chosen, dx, dy);
      if (spot) told.choose(spot.node.id);
    },
  });
  useKeys([
    { key: "]", does: "choose the next node", when: free, run: () => next(1) },
    { key: "[", does: "choose the node before", when: free, run: () => next(-1) },
    { key: "Enter", does: "walk to the chosen node", when: free, run: () => chosen && told.walk(chosen) },
    { key: "+", does: "closer", when: free, run: () => stage.current?.moveBy((camera) => camera.zoom(CLOSER)) },
    { key: "-", does: "farther", when: free, run: () => stage.current?.moveBy((camera) => camera.zoom(1 / CLOSER)) },
    { key: "0", does: "see all of the picture", when: free, run: () => stage.current?.fit() },
    arrow("Left", "to the left", -1, 0),
    arrow("Right", "to the right", 1, 0),
    arrow("Up", "above", 0, -1),
    arrow("Down", "below", 0, 1),
  ]);
}

/** @param {{stage: {current: Stage | null}}} props */
function Tools({ stage }) {
  const zoom = (/** @type {number} */ factor) => () => stage.current?.moveBy((camera) => camera.zoom(factor));
  return html`<div class="tools" role="toolbar" aria-label="Picture">
    <button onClick=${zoom(CLOSER)} aria-label="Closer" title="closer (+)">+</button>
    <button onClick=${zoom(1 / CLOSER)} aria-label="Farther" title="farther (-)">−</button>
    <button onClick=${() => stage.current?.fit()} title="see all of it (0)">Fit</button>
    <button onClick=${() => stage.current?.layAnew()} title="lay all nodes out anew">Anew</button>
  </div>`;
}

/** What the colours and lines mean. @param {{nodes: PictureNode[], edges: PictureEdge[], hues: Map<string, number>}} props */
function Legend({ nodes, edges, hues }) {
  const groups = [...new Set(edges.map((edge) => edge.group))].sort((one, other) => GROUPS.indexOf(styleOf(one)) - GROUPS.indexOf(styleOf(other)));
  const coloured = [...hues].filter(([, hue]) => hue !== OTHERS);
  const others = [...hues].filter(([, hue]) => hue === OTHERS).length;
  const inside = (/** @type {string} */ folder) => nodes.filter((node) => node.folder === folder).length;
  return html`<figcaption class="legend">
    <ul aria-label="Folders">
      ${coloured.map(([folder, hue]) => html`<li key=${folder}><span class="swatch" style=${`background:var(--hue-${hue})`}></span>${folder || "(no folder)"} <span class="dim">${inside(folder)}</span></li>`)}
      ${others > 0 && html`<li><span class="swatch" style=${`background:var(--hue-${OTHERS})`}></span>${counted(others, "other folder")}</li>`}
    </ul>
    <ul aria-label="Edges">
      ${groups.map((group) => {
        const style = styleOf(group);
        return html`<li key=${group}><svg width="28" height="8" aria-hidden="true"><line x1="0" y1="4" x2="28" y2="4" style=${`stroke:var(--edge-${style})`} stroke-width="1.5" stroke-dasharray=${DASHES[style].join(" ")} /></svg>${group}</li>`;
      })}
    </ul>
  </figcaption>`;
}
