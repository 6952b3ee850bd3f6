import {
  deliverPending,
  type DeliverPendingOptions,
  type DeliveryCounts,
  type Outbox,
  type OutboxOptions,
  type Receiver,
} from "../../../mod.ts";
import { coreOf } from "../../../src/core.ts";
import { buildOutbox } from "../../../src/outbox.ts";
import { ManualClock } from "../../../src/testing/manual_clock.ts";
import { waitFor } from "../../support/wait_for.ts";
import type { Given } from "./given.ts";

/** A clock that a case moves, and that tells how often anybody went to sleep by it. */
export class WatchedClock extends ManualClock {
  sleeps = 0;

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.sleeps++;
    return super.sleep(ms, signal);
  }

  /** Waits until a relay that was woken has looked around and gone to sleep again. */
  async asleepAfter(wake: () => unknown): Promise<void> {
    const before = this.sleeps;
    await wake();
    await waitFor(() => this.sleeps > before, { what: "the relay to go to sleep again" });
  }
}

/** An outbox whose claims, outcomes and waits go by a clock of the case's own. */
export function clocked(
  given: Given,
  receivers: readonly Receiver[],
  options: Partial<OutboxOptions> = {},
): { outbox: Outbox; clock: WatchedClock } {
  const clock = new WatchedClock();
  const backoff = { base: { minutes: 10 }, cap: { minutes: 10 } };
  const settings = { backoff, poll: { hours: 1 }, ...options.settings };
  return { outbox: buildOutbox({ storage: given.storage, receivers, ...options, settings }, clock), clock };
}

/** A process that lives that many minutes, and looks for work in each. */
export async function living(
  { outbox, clock }: ReturnType<typeof clocked>,
  minutes: number,
  options: DeliverPendingOptions = {},
): Promise<DeliveryCounts> {
  const sum: DeliveryCounts = {};
  for (let minute = 0; minute < minutes; minute++) {
    clock.advance({ minutes: 1 });
    Object.assign(sum, await deliverPending(outbox, options));
    await Promise.all(coreOf(outbox, "look into it").background);
  }
  return sum;
}

/** Runs work while `Math.random` gives this number. */
export async function drawn<R>(random: number, work: () => Promise<R>): Promise<R> {
  const original = Math.random;
  Math.random = () => random;
  try {
    return await work();
  } finally {
    Math.random = original;
  }
}
