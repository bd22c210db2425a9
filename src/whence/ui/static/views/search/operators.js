// Operators in a query, as facets put them there: what narrows an answer can be seen, and learned, in the query itself.

/** @param {string} value */
function written(value) {
  return /[\s"()]/.test(value) ? `"${value.replaceAll('"', "")}"` : value;
}

/** @param {string} query @param {string} operator @param {string} value */
function places(query, operator, value) {
  const wanted = `${operator}:${written(value)}`;
  return pieces(query).map((piece) => ({ piece, same: piece === wanted }));
}

/** A query cut at its blanks; what is in quotes stays together. @param {string} query @returns {string[]} */
function pieces(query) {
  return query.match(/(?:"[^"]*"?|[^\s"])+/g) ?? [];
}

/** The values that a query has for an operator. @param {string} query @param {string} operator */
export function valuesOf(query, operator) {
  return pieces(query)
    .filter((one) => one.startsWith(`${operator}:`))
    .map((one) => one.slice(operator.length + 1).replaceAll('"', ""));
}

/** Whether a query holds `operator:value`. @param {string} query @param {string} operator @param {string} value */
export function holds(query, operator, value) {
  return places(query, operator, value).some((one) => one.same);
}

/** The query with `operator:value`. @param {string} query @param {string} operator @param {string} value */
export function added(query, operator, value) {
  return `${query.trimEnd()} ${operator}:${written(value)}`.trimStart();
}

/** The query without it. @param {string} query @param {string} operator @param {string} value */
export function removed(query, operator, value) {
  return places(query, operator, value)
    .filter((one) => !one.same)
    .map((one) => one.piece)
    .join(" ");
}
