import { realSleep } from "../clock.ts";
import { type Core, coreOf, type Outbox } from "../core.ts";
import { refuseUnknown } from "../declaration/refusals.ts";
import { requireEventId } from "../uuid.ts";
import type { DeliveryRecord } from "../storage/records.ts";

/** How one debt ended. */
export interface SettledDelivery {
  /** The receiver's key. */
  readonly receiverKey: string;
  /** The target of a fan-out; empty without one. */
  readonly target: string;
  /** How it ended. */
  readonly status: "succeeded" | "dead" | "orphaned" | "cancelled";
}

/** Options of {@linkcode settled}. */
export interface SettledOptions {
  /** Waits for the debts to these receivers alone. Default: all. */
  readonly receivers?: readonly string[];
  /** Gives up waiting; rejects with its reason. */
  readonly signal?: AbortSignal;
}

const FIRST_LOOK_MS = 5;
const LONGEST_WAIT_MS = 250;

/**
 * Waits until the debts of an event are settled: for a page that must not lie about the lag. Give it a signal, since a
 * debt may be owed for as long as nobody pays it.
 *
 * @param eventId what `fire` returned
 * @returns how each debt ended, in the order in which they were written; empty for an event without debts
 * @throws the reason of the signal when it aborts first
 * @throws {TypeError} for what is no id of an event
 * @throws {RangeError} for a receiver that the outbox does not list
 * @throws the database's error when it does not answer
 *
 * @example A page that waits a moment for the stock
 * ```ts
 * import { type Outbox, settled } from "@owed/outbox";
 *
 * async function stateOf(outbox: Outbox, eventId: string): Promise<"confirmed" | "processing"> {
 *   try {
 *     const [stock] = await settled(outbox, eventId, {
 *       receivers: ["stock.reserve"],
 *       signal: AbortSignal.timeout(300),
 *     });
 *     return stock?.status === "succeeded" ? "confirmed" : "processing";
 *   } catch {
 *     return "processing";
 *   }
 * }
 * console.log(typeof stateOf); // function
 * ```
 */
export async function settled(
  outbox: Outbox,
  eventId: string,
  options: SettledOptions = {},
): Promise<SettledDelivery[]> {
  const core = coreOf(outbox, "wait for deliveries");
  refuseUnknown(options, ["receivers", "signal"], "wait for deliveries");
  const { receivers, signal } = options;
  requireEventId(eventId, "wait for deliveries");
  core.registry.requireDurable(receivers, "wait for");
  for (let wait = FIRST_LOOK_MS;; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    signal?.throwIfAborted();
    const rows = await rowsOf(core, eventId, receivers);
    if (rows.every(isSettled)) return rows.map(({ receiverKey, target, status }) => ({ receiverKey, target, status }));
    // Not by the outbox's clock: a test that stops it would wait here for ever.
    await realSleep(wait, signal);
  }
}

async function rowsOf(
  core: Core,
  eventId: string,
  receivers: readonly string[] | undefined,
): Promise<DeliveryRecord[]> {
  const rows = await core.storage.findDeliveries({ eventId });
  return receivers === undefined ? rows : rows.filter((row) => receivers.includes(row.receiverKey));
}

type Settled = DeliveryRecord & { readonly status: SettledDelivery["status"] };

function isSettled(row: DeliveryRecord): row is Settled {
  return row.status !== "pending" && row.status !== "failed" && row.status !== "claimed";
}
