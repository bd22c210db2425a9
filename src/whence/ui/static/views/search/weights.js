// Weights that were moved, as they stand in the address: `signal*factor`, separated by commas.
import { change, given } from "../../lib/address.js";

/** A weight can be moved to so many times what it was. */
export const MOST_TIMES = 3;

/** @param {string} written @returns {Record<string, number>} */
export function factorsOf(written) {
  /** @type {Record<string, number>} */
  const found = {};
  for (const piece of written.split(",")) {
    const [signal, factor] = piece.split("*");
    const value = Number(factor);
    if (signal && factor && Number.isFinite(value) && value >= 0 && value !== 1) found[signal] = value;
  }
  return found;
}

/** @param {Record<string, number>} factors */
export function writtenFactors(factors) {
  return Object.entries(factors)
    .filter(([, factor]) => factor !== 1)
    .map(([signal, factor]) => `${signal}*${factor}`)
    .join(",");
}

/** Move the weight of a signal in the address; the search follows. @param {string} signal @param {number} factor */
export function moveWeight(signal, factor) {
  change({ w: writtenFactors({ ...factorsOf(given().w ?? ""), [signal]: factor }) });
}
