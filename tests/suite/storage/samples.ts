import type { Instant } from "../../../src/instant.ts";
import type { NewDelivery, NewEvent } from "../../../src/storage/records.ts";
import type { Settlement } from "../../../src/storage/settlement.ts";
import { uuidv7 } from "../../../src/uuid.ts";

/** An event with nothing in it but what is asked for. */
export function anEvent(fields: Partial<NewEvent> = {}): NewEvent {
  return {
    id: uuidv7(),
    name: "orders.placed",
    version: 1,
    key: null,
    topic: null,
    payload: "{}",
    occurredAt: null,
    actor: null,
    actorLabel: null,
    scope: null,
    correlationId: null,
    causationId: null,
    trace: null,
    dedupeKey: null,
    suppressedReason: null,
    retentionSeconds: null,
    deleteWhen: null,
    ...fields,
  };
}

/** A debt for the event. */
export function aDebt(event: { readonly id: string }, fields: Partial<NewDelivery> = {}): NewDelivery {
  return {
    eventId: event.id,
    receiverKey: "stock.reserve",
    target: "",
    maxAttempts: 5,
    orderKey: null,
    dueAt: null,
    dueInMs: null,
    ...fields,
  };
}

/** A moment that many milliseconds later. */
export function after(instant: Instant, ms: number): Instant {
  return instant + BigInt(Math.round(ms * 1000));
}

/** The whole numbers from 0 to `count`, `count` excluded. */
export function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

/** Ids in order of their numbers. */
export function inOrder(ids: Iterable<string>): string[] {
  return [...ids].sort((a, b) => Number(BigInt(a) - BigInt(b)));
}

export const succeeded: Settlement = { kind: "succeeded" };
export const released: Settlement = { kind: "released" };
export const orphaned: Settlement = { kind: "orphaned", error: "nobody lists it" };

/** A failure with attempts left. */
export function retryIn(delayMs: number, error = "Error: no luck"): Settlement {
  return { kind: "retryAt", delayMs, error };
}

/** A failure that spends no attempt. */
export function deferredFor(delayMs: number, error = "RetryAfter: throttled"): Settlement {
  return { kind: "deferredUntil", delayMs, error };
}

/** Not due until then. */
export function notYet(until: Instant): Settlement {
  return { kind: "notYetUntil", until };
}

/** A failure for good. */
export function dead(error = "Error: no luck", counted = true): Settlement {
  return { kind: "dead", error, counted };
}

/** Not now. */
export function postponed(delayMs: number): Settlement {
  return { kind: "postponed", delayMs };
}

/** Texts that break careless quoting, encoding and lookups. They are free of NUL, which `fire` refuses. */
export const hostileTexts: Readonly<Record<string, string>> = {
  "a single quote": "it's ''quoted''",
  "a double quote": '"receivers"',
  "a backslash": "C:\\new\\table\\",
  "dollar quotes": "$$; drop table deliveries; $1 $q$",
  "a comment": "a -- b /* c",
  "question marks and colons": "? ?1 :name @name ::text",
  "percent and underscore": "100%_",
  "braces": "{1,2,NULL}",
  "JSON": '{"a":["b"]}',
  "an emoji": "👩🏽‍🚀 café \u{1F4A9}",
  "a right-to-left mark and a zero-width joiner": "a\u200Fb\u200Dc",
  "control characters": "line\nbreak\ttab\r\u0001\u001F\u007F",
  "a line separator": "a\u2028b",
  "spaces at the ends": "  padded  ",
  "__proto__": "__proto__",
  "the word null": "null",
  "a number": "0012",
  "ten thousand characters": randomText(10_000),
};

/** Text that does not compress, so that a limit on index entries is met. */
export function randomText(length: number): string {
  let text = "";
  for (let seed = 12345; text.length < length;) {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    text += String.fromCharCode(0x4e00 + (seed >> 8) % 20_000);
  }
  return text;
}
