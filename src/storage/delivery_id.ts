/** The largest number that either database numbers a row with. */
const LARGEST = 2n ** 63n - 1n;

/** Whether a text can be the id of a delivery; what cannot names no row. */
export function isDeliveryId(text: string): boolean {
  return /^\d{1,19}$/.test(text) && BigInt(text) <= LARGEST;
}
