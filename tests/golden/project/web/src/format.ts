/** A price in cents as text in the visitor's language. */
export function formatPrice(cents: number, currency = "EUR"): string {
  return new Intl.NumberFormat(undefined, { style: "currency", currency }).format(cents / 100);
}
