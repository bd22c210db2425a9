// Weights that were moved, as they stand in the address: `signal*factor`, separated by commas.

/** @param {string} written @returns {Record<string, number>} */
export function factorsOf(written) {
  /** @type {Record<string, number>} */
  const found = {};
  for (const piece of written.split(",")) {
    const [signal, factor] = piece.split("*");
    const value = Number(factor);
    if (signal && factor !== undefined && Number.isFinite(value) && value >= 0 && value !== 1) found[signal] = value;
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
