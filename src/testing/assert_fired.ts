import { decodePayload, storedPayload } from "../declaration/codec.ts";
import type { AnyEventDefinition, EventDefinition } from "../declaration/event.ts";
import { redact } from "../declaration/redact.ts";
import { refuseUnknown, requireInteger } from "../declaration/refusals.ts";
import { type Core, coreOf, type Outbox } from "../core.ts";
import type { EventRecord } from "../storage/records.ts";
import { matches, type PartOf } from "./matches.ts";

/** Options of {@linkcode assertFired}. */
export interface AssertFiredOptions<Output = unknown> {
  /** How often it must have been fired; default at least once. */
  readonly times?: number;
  /**
   * Counts only events whose payload, as receivers get it, has these values. An object may have more than is named
   * here; a list has as many elements.
   */
  readonly payload?: PartOf<Output>;
  /** Does not look once it has aborted; rejects with its reason. */
  readonly signal?: AbortSignal;
}

const MOST_SHOWN = 10;
const LONGEST_SHOWN = 300;

/**
 * Asserts that an event was fired and committed. It reads the log and not a mock, by the decoder that the relay uses,
 * so it also proves that a receiver could be given these payloads. What was fired instead is in the failure's text, the
 * event's private paths left out.
 *
 * @returns the payloads that count, as receivers get them, in the order in which they were fired
 * @throws {Error} named AssertionError, saying what was fired instead
 * @throws {TypeError | RangeError} for an event that this outbox does not declare, or an option that makes no sense
 *
 * @example After a function that fires
 * ```ts
 * import { createClient } from "@libsql/client";
 * import { assertFired, createOutbox, event, fire } from "@owed/outbox";
 * import { libsqlStorage } from "@owed/outbox/libsql";
 *
 * const OrderPlaced = event<{ orderId: number; total: string }>("orders.placed");
 * const storage = libsqlStorage(createClient({ url: ":memory:" }));
 * await using outbox = createOutbox({ storage, receivers: [], events: [OrderPlaced] });
 * await outbox.transaction((tx) => fire(tx, OrderPlaced({ orderId: 1, total: "49.00" })));
 * const [order] = await assertFired(outbox, OrderPlaced, { times: 1, payload: { orderId: 1 } });
 * console.log(order?.total); // 49.00
 * ```
 */
export async function assertFired<Input, Output>(
  outbox: Outbox,
  event: EventDefinition<Input, Output>,
  options: AssertFiredOptions<Output> = {},
): Promise<Output[]> {
  const core = coreOf(outbox, "assert what was fired");
  if (core.registry.events.get(event?.name) !== event as unknown) {
    throw new TypeError(`Cannot assert that "${event?.name}" was fired: this outbox does not declare it`);
  }
  refuseUnknown(options, ["times", "payload", "signal"], "assert what was fired");
  const { times, payload, signal } = options;
  if (times !== undefined) requireInteger(times, 0, Number.MAX_SAFE_INTEGER, "the option times");
  signal?.throwIfAborted();
  const records = await core.storage.findEvents({ name: event.name });
  const fired: Output[] = [];
  for (const record of records) fired.push(await decoded(event, record) as Output);
  const counted = "payload" in options ? fired.filter((one) => matches(one, payload)) : fired;
  if (times === undefined ? counted.length > 0 : counted.length === times) return counted;

  const like = "payload" in options ? ` with a payload like ${shown(event, payload)}` : "";
  const expected = times === undefined ? "at least once" : `${times} times`;
  throw assertionError(
    `Expected "${event.name}"${like} to be fired ${expected}, it was fired ${counted.length} times; ` +
      await instead(core, event, records),
  );
}

async function decoded(event: AnyEventDefinition, { id, payload, version }: EventRecord): Promise<unknown> {
  try {
    return await decodePayload(event, payload, version);
  } catch (cause) {
    throw assertionError(`Event ${id} of "${event.name}" cannot be decoded: ${(cause as Error).message}`, cause);
  }
}

/** What the log has instead: this event's payloads, and how often every other event was fired. */
async function instead(core: Core, event: AnyEventDefinition, records: readonly EventRecord[]): Promise<string> {
  const byName = new Map<string, number>();
  for (const { name } of await core.storage.findEvents({})) byName.set(name, (byName.get(name) ?? 0) + 1);
  if (byName.size === 0) return "nothing was fired at all";
  const payloads = records.slice(0, MOST_SHOWN)
    .map(({ payload, version }) => `\n  ${shown(event, storedPayload(event, payload, version))}`);
  if (records.length > MOST_SHOWN) payloads.push(`\n  and ${records.length - MOST_SHOWN} more`);
  return `fired were ${[...byName].map(([name, count]) => `"${name}" (${count})`).join(", ")}` +
    (payloads.length === 0 ? "" : `, "${event.name}" with:${payloads.join("")}`);
}

function shown(event: AnyEventDefinition, payload: unknown): string {
  const text = JSON.stringify(redact(event, payload), (_, value) => typeof value === "bigint" ? `${value}n` : value);
  return text === undefined || text.length <= LONGEST_SHOWN ? String(text) : `${text.slice(0, LONGEST_SHOWN)}...`;
}

function assertionError(message: string, cause?: unknown): Error {
  const error = new Error(message, cause === undefined ? undefined : { cause });
  error.name = "AssertionError";
  return error;
}
