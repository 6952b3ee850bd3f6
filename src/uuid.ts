let lastMilliseconds = 0;
let counter = 0;

/**
 * A UUID of version 7 (RFC 9562): a millisecond clock, then a counter, so that ids made by one process rise strictly
 * even within a millisecond and when the clock steps back. Neighbours in time are neighbours in the index.
 */
export function uuidv7(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const now = Date.now();
  if (now > lastMilliseconds) {
    lastMilliseconds = now;
    // Half of the counter's range is left to count in, the rest is random.
    counter = ((bytes[6]! & 0x07) << 8) | bytes[7]!;
  } else if (++counter > 0xfff) {
    lastMilliseconds++;
    counter = 0;
  }
  const hex = lastMilliseconds.toString(16).padStart(12, "0");
  let tail = "";
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  for (let i = 8; i < 16; i++) tail += bytes[i]!.toString(16).padStart(2, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${counter.toString(16).padStart(3, "0")}-${tail.slice(0, 4)}-${
    tail.slice(4)
  }`;
}

/**
 * Refuses what is no id of an event: one database would give an error of its own, and the other find nothing.
 *
 * @throws {TypeError} naming what it was given for
 */
export function requireEventId(value: unknown, what: string): asserts value is string {
  if (typeof value === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)) return;
  throw new TypeError(`Cannot ${what}: expected an event's id, as fire gives it, got ${typeof value}`);
}
