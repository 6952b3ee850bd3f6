import type { Core } from "../core.ts";
import type { AnyEventDefinition, EventInstance } from "../declaration/event.ts";
import { encodePayload } from "../declaration/payload.ts";
import type { Receiver } from "../declaration/receiver.ts";
import { requireName } from "../declaration/refusals.ts";
import { DuplicateEvent } from "../errors.ts";
import { instantOf } from "../instant.ts";
import { logger } from "../log.ts";
import type { NewEvent } from "../storage/records.ts";
import { uuidv7 } from "../uuid.ts";
import { ambient, type Cause, chainOf, NO_SCOPE } from "./ambient.ts";
import { debtsOf } from "./debts.ts";
import type { FireAllOptions } from "./fire.ts";
import { InlineContext } from "./inline_context.ts";
import { suppressionOf } from "./suppression.ts";
import type { TxScope } from "./transaction.ts";
import { viewOf } from "./view.ts";

const log = logger(["firing"]);
// From here on a payload is likely a copy of the object rather than a fact about it.
const LARGE_PAYLOAD = 64 * 1024;

/** An event on its way into the database. */
export interface Prepared {
  readonly receivers: readonly Receiver[];
  readonly row: NewEvent;
  /** The payload as a relay would see it; only there when somebody here needs it. */
  readonly view: unknown;
}

/**
 * The steps of a fire, in their order: everything that can be refused is refused before the first write; the debts are
 * written with the event; what happens after the commit is noted before any inline receiver runs, so that a veto
 * undoes it with the rest.
 *
 * @returns the ids, in the order of the events; null for one that a surrounding block discards
 */
export async function fireInto(
  scope: TxScope,
  cause: Cause | undefined,
  events: readonly EventInstance[],
  options: FireAllOptions,
): Promise<(string | null)[]> {
  const prepared: (Prepared | null)[] = [];
  for (const [index, event] of events.entries()) {
    prepared.push(
      await prepare(scope.core, cause, event, { ...options, dedupeKey: options.dedupeKey?.(event, index) }),
    );
  }
  const kept = prepared.filter((one) => one !== null);
  if (kept.length === 0) return prepared.map(() => null);

  const deliveries = [];
  for (const one of kept) deliveries.push(...await debtsOf(scope, one));
  options.signal?.throwIfAborted();
  const { core, storageTx } = scope;
  const rows = kept.map((one) => one.row);
  const { duplicates } = await core.storage.append(storageTx, rows, deliveries, core.clock.now());
  if (duplicates.size > 0 && options.onDuplicate !== "ignore") {
    const written = rows.filter((row) => !duplicates.has(row.id)).map((row) => row.id);
    if (written.length > 0) await core.storage.retract(storageTx, written);
    const taken = rows.find((row) => duplicates.has(row.id))!;
    throw new DuplicateEvent(taken.name, duplicates.get(taken.id)!);
  }

  const owed = new Set(deliveries.map((delivery) => delivery.eventId));
  const fresh = kept.filter((one) => !duplicates.has(one.row.id));
  for (const one of fresh) noteAfterCommit(scope, one, owed.has(one.row.id));
  try {
    for (const one of fresh) await runInline(scope, one);
  } catch (veto) {
    scope.forget(fresh.map((one) => one.row.id));
    throw veto;
  }
  return prepared.map((one) => one && (duplicates.get(one.row.id) ?? one.row.id));
}

/** How one event is fired. */
type PrepareOptions = Omit<FireAllOptions, "dedupeKey"> & { readonly dedupeKey: string | undefined };

async function prepare(
  core: Core,
  cause: Cause | undefined,
  event: EventInstance,
  options: PrepareOptions,
): Promise<Prepared | null> {
  const definition = declaredIn(core, event);
  const around = ambient()?.scope ?? NO_SCOPE;
  const suppression = suppressionOf(around, definition.name);
  if (suppression && !suppression.record) return null;
  const payload = encodePayload(definition.name, event.payload, core.settings.payload);
  if (payload.length > LARGE_PAYLOAD) {
    log.warn("{event} was fired with a payload of {characters} characters: fire a fact, not a copy of the object", {
      event: definition.name,
      characters: payload.length,
    });
  }
  const receivers = suppression ? [] : core.registry.receiversOf(definition.name);
  const view = needsView(definition, receivers) ? await viewOf(definition, payload) : undefined;
  requireUsefulDedupeKey(definition, options.dedupeKey);
  const row: NewEvent = {
    id: uuidv7(),
    name: definition.name,
    version: definition.version,
    key: keyOf(definition, view),
    topic: definition.topic ?? null,
    payload,
    occurredAt: options.occurredAt === undefined ? null : instantOf(options.occurredAt, "occurredAt"),
    actor: around.actor ?? null,
    actorLabel: around.actorLabel ?? null,
    scope: Object.keys(around.facts).length === 0 ? null : JSON.stringify(around.facts),
    correlationId: chainOf(cause, around) ?? null,
    causationId: cause?.eventId ?? null,
    trace: core.traceContext(),
    dedupeKey: options.dedupeKey ?? null,
    suppressedReason: suppression?.reason ?? null,
    retentionSeconds: definition.retention.retentionSeconds,
    deleteWhen: definition.retention.deleteWhen,
  };
  return { receivers, row, view };
}

function declaredIn(core: Core, event: EventInstance): AnyEventDefinition {
  const definition = event?.definition;
  if (typeof definition !== "function") {
    throw new TypeError(
      "Cannot fire: expected what a declared event returns for a payload, such as OrderPlaced({ ... })",
    );
  }
  if (core.registry.events.get(definition.name) !== definition) {
    throw new TypeError(
      `Cannot fire "${definition.name}": this outbox does not declare it; list a receiver of it, or list it in events`,
    );
  }
  return definition;
}

function needsView(definition: AnyEventDefinition, receivers: readonly Receiver[]): boolean {
  return definition.schema !== undefined || definition.key !== undefined ||
    receivers.some(({ policy }) =>
      policy.mode !== "durable" || policy.targets !== undefined || typeof policy.due === "function"
    );
}

function requireUsefulDedupeKey(definition: AnyEventDefinition, dedupeKey: string | undefined): void {
  if (dedupeKey === undefined) return;
  requireName(dedupeKey, `fire "${definition.name}"`, "dedupeKey");
  if (definition.retention.deleteWhen === null) return;
  throw new TypeError(
    `Cannot fire "${definition.name}" with a dedupeKey: its rows go once they are ${definition.retention.deleteWhen}, ` +
      `and the key with them; give it a retention that is a time`,
  );
}

function keyOf(definition: AnyEventDefinition, view: unknown): string | null {
  if (definition.key === undefined) return null;
  const key = definition.key(view);
  requireName(key, `fire "${definition.name}"`, "its key");
  return key;
}

function noteAfterCommit(scope: TxScope, { row, receivers, view }: Prepared, owed: boolean): void {
  const eager = receivers.filter(({ policy }) => policy.mode === "durable" && policy.eager);
  scope.afterCommit.push({
    eventId: row.id,
    owed,
    eagerKeys: owed ? eager.map((receiver) => receiver.key) : [],
    onCommit: receivers.filter((receiver) => receiver.policy.mode === "on-commit").map((receiver) => ({
      receiverKey: receiver.key,
      call: () => new InlineContext(scope.core, row, receiver.key, undefined).run(receiver, view),
    })),
  });
}

async function runInline(scope: TxScope, { row, receivers, view }: Prepared): Promise<void> {
  for (const receiver of receivers) {
    if (receiver.policy.mode !== "inline") continue;
    try {
      await new InlineContext(scope.core, row, receiver.key, scope).run(receiver, view);
    } catch (veto) {
      await scope.doom(veto);
      throw veto;
    }
  }
}
