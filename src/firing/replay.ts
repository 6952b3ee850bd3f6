import { type Core, coreOf, type Outbox } from "../core.ts";
import { decodePayload } from "../declaration/codec.ts";
import type { Receiver } from "../declaration/receiver.ts";
import { refuseUnknown } from "../declaration/refusals.ts";
import type { EventRecord, NewDelivery, NewEvent } from "../storage/records.ts";
import { requireEventId } from "../uuid.ts";
import { refuseWaitingForItself } from "./ambient.ts";
import { AT_ONCE, debt, targetsOf } from "./debts.ts";
import { InlineContext } from "./inline_context.ts";
import { ownTransaction } from "./own_transaction.ts";

/** Options of {@linkcode replayEvents}. */
export interface ReplayOptions {
  /** Replays to these durable receivers alone. Default: all that listen now. */
  readonly receivers?: readonly string[];
  /** Does not begin once it has aborted; rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** What {@linkcode replayEvents} did. */
export interface Replayed {
  /** Settled deliveries that are owed again. */
  readonly reopened: number;
  /** Deliveries to receivers or targets that had none. */
  readonly added: number;
}

/**
 * Makes events owed again to whoever listens now: a settled delivery starts afresh, a receiver or target that had none
 * is added, what is owed already is left as it is, and so is a target that is no longer named. The receivers of an
 * event are frozen when it is fired; this is the named act that gives a new one the backlog.
 *
 * @param eventIds ids of events; those that are gone, or whose event nobody declares here, are passed over
 * @returns how many deliveries were reopened and how many were added
 * @throws {TypeError} for what is no id of an event
 * @throws {RangeError} for a receiver that the outbox does not list; nothing is changed
 * @throws {Error} when a fan-out must be asked for its targets and the payload cannot be decoded; nothing is changed
 * @throws the database's error when it does not answer
 *
 * @example Give a new receiver yesterday's orders
 * ```ts
 * import { type Outbox, replayEvents } from "@owed/outbox";
 *
 * async function backfill(outbox: Outbox, eventIds: string[]) {
 *   const { reopened, added } = await replayEvents(outbox, eventIds, { receivers: ["loyalty.points"] });
 *   console.log({ reopened, added });
 * }
 * console.log(typeof backfill); // function
 * ```
 */
export async function replayEvents(
  outbox: Outbox,
  eventIds: readonly string[],
  options: ReplayOptions = {},
): Promise<Replayed> {
  const core = coreOf(outbox, "replay events");
  refuseUnknown(options, ["receivers", "signal"], "replay events");
  if (!Array.isArray(eventIds)) throw new TypeError("Cannot replay events: expected a list of their ids");
  for (const id of eventIds) requireEventId(id, "replay events");
  core.registry.requireDurable(options.receivers, "replay to");
  options.signal?.throwIfAborted();
  refuseWaitingForItself(core, "replay events");
  if (eventIds.length === 0) return { reopened: 0, added: 0 };
  const events = await core.storage.findEvents({ ids: eventIds });
  const reopenings = [];
  for (const event of events) {
    const deliveries = await wanted(core, event, options.receivers);
    if (deliveries.length > 0) reopenings.push({ eventId: event.id, deliveries });
  }
  if (reopenings.length === 0) return { reopened: 0, added: 0 };
  const done = await core.storage.reopen(reopenings, core.clock.now());
  if (done.reopened + done.added > 0) core.wake();
  return done;
}

async function wanted(core: Core, event: EventRecord, only: readonly string[] | undefined): Promise<NewDelivery[]> {
  const listening = core.registry.receiversOf(event.name)
    .filter(({ key, policy }) => policy.mode === "durable" && (only === undefined || only.includes(key)));
  const deliveries: NewDelivery[] = [];
  for (const receiver of listening) {
    for (const target of await targetsNow(core, event, receiver)) {
      deliveries.push(debt(core, event.id, receiver, target, AT_ONCE));
    }
  }
  return deliveries;
}

// A plain receiver's payload is not decoded: one that cannot be is the delivery's to find out.
async function targetsNow(core: Core, event: EventRecord, receiver: Receiver): Promise<Iterable<string>> {
  if (receiver.policy.targets === undefined) return [""];
  const view = await decodePayload(core.registry.events.get(event.name)!, event.payload, event.version);
  return await ownTransaction(
    core,
    (scope) => targetsOf(receiver, view, new InlineContext(core, rowOf(event), receiver.key, scope)),
  );
}

function rowOf(event: EventRecord): NewEvent {
  return { ...event, dedupeKey: null, suppressedReason: null, retentionSeconds: null, deleteWhen: null };
}
