import { systemClock } from "../../src/clock.ts";
import type { Core } from "../../src/core.ts";
import { event } from "../../src/declaration/event.ts";
import { receiver } from "../../src/declaration/receiver.ts";
import type { ReceiverOptions } from "../../src/declaration/receiver_options.ts";
import { buildRegistry } from "../../src/declaration/registry.ts";
import { resolveSettings, type Settings } from "../../src/declaration/settings.ts";
import { Attempt, type Interruption } from "../../src/delivery/attempt.ts";
import type { ClaimedDelivery } from "../../src/storage/records.ts";
import type { Storage } from "../../src/storage/storage.ts";

/** A core for rules that live in this process: the verbs of the database that a test needs, and no others. */
export function coreOf(storage: Partial<Storage>, settings: Settings = {}, options: ReceiverOptions = {}): Core {
  const reserve = receiver(event("orders.placed"), "stock.reserve", () => {}, options);
  return {
    storage: { name: "fake", ...storage } as Storage,
    registry: buildRegistry([reserve], []),
    settings: resolveSettings(settings),
    clock: systemClock,
    wake: () => {},
    eager: () => Promise.resolve(() => Promise.resolve()),
    announce: () => Promise.resolve(),
    announcingForMs: () => 0,
    announceSometimes: () => {},
    traceContext: () => null,
    aroundDelivery: undefined,
    tasks: undefined,
    background: new Set(),
  };
}

/** A row as a claim brings it. */
export function claimed(id: number, changes: Partial<ClaimedDelivery> = {}): ClaimedDelivery {
  return {
    fence: { id: String(id), claimedBy: "worker#1", claimedAt: 1_000_000n },
    receiverKey: "stock.reserve",
    target: "",
    attempts: 0,
    maxAttempts: 5,
    lapses: 0,
    availableAt: 1_000_000n,
    dueAt: null,
    owedSince: 1_000_000n,
    claimedNow: 1_000_000n,
    event: {
      id: "0190a0c8-0000-7000-8000-000000000000",
      name: "orders.placed",
      version: 1,
      key: null,
      topic: null,
      payload: "{}",
      occurredAt: 1_000_000n,
      actor: null,
      actorLabel: null,
      scope: null,
      correlationId: null,
      causationId: null,
      trace: null,
    },
    ...changes,
  };
}

/** A running attempt, and what interrupted it. */
export function attemptOf(
  core: Core,
  id: number,
  changes: Partial<ClaimedDelivery> = {},
): { attempt: Attempt; interruptions: Interruption[] } {
  const attempt = new Attempt(core, claimed(id, changes));
  const interruptions: Interruption[] = [];
  attempt.onInterrupt = (interruption) => interruptions.push(interruption);
  return { attempt, interruptions };
}
