// What every view is made of: elements from templates, and hooks.
import htm from "../vendor/htm.js";
import { Fragment, h, render } from "../vendor/preact.js";

export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/hooks.js";
export { Fragment, render };

/** Text in a template is text: nothing that comes from a repository becomes markup. */
export const html = htm.bind(h);
