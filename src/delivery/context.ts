import type { Logger } from "../log.ts";
import { type Core, inside } from "../core.ts";
import type { DeliveryContext, Tx } from "../declaration/context.ts";
import { DatabaseUnreachable, LeaseLost } from "../errors.ts";
import {
  type Ambient,
  type Cause,
  NO_SCOPE,
  refuseWaitingForItself,
  type Surrounding,
  surrounding,
} from "../firing/ambient.ts";
import { Tracker } from "../firing/tracker.ts";
import { type FiringSource, TxScope } from "../firing/transaction.ts";
import { dateOf } from "../instant.ts";
import { logger } from "../log.ts";
import type { Acknowledgement, StorageTransaction } from "../storage/storage.ts";
import type { Attempt } from "./attempt.ts";

const log = logger(["receiver"]);

/** The transaction that a receiver asked for, and what was fired in it. */
export interface Held {
  readonly acknowledgement: Acknowledgement;
  readonly scope: TxScope;
}

/** What a durable receiver is told, and its way to the transaction that carries its acknowledgement. */
export class DurableContext implements DeliveryContext, FiringSource {
  readonly core: Core;
  readonly ambient: Ambient & { readonly transaction: Surrounding };
  readonly #attempt: Attempt;
  readonly #within: StorageTransaction | undefined;
  readonly #tracker = new Tracker();
  #opening: Promise<Held> | undefined;
  #held: Held | undefined;
  #waiting = false;
  #acknowledging: Promise<void> | undefined;
  #abort: AbortController | undefined;
  #returned = false;
  #unreachable = false;

  constructor(core: Core, attempt: Attempt, within: StorageTransaction | undefined) {
    this.core = core;
    this.#attempt = attempt;
    this.#within = within;
    // Not what surrounds the relay: a receiver reads who did what off the event's row.
    this.ambient = { cause: this.cause, scope: NO_SCOPE, transaction: surrounding(core, within !== undefined) };
  }

  get eventId(): string {
    return this.#attempt.delivery.event.id;
  }
  get eventName(): string {
    return this.#attempt.delivery.event.name;
  }
  get version(): number {
    return this.#attempt.delivery.event.version;
  }
  get deliveryId(): string {
    return this.#attempt.delivery.fence.id;
  }
  get receiverKey(): string {
    return this.#attempt.delivery.receiverKey;
  }
  get target(): string {
    return this.#attempt.delivery.target;
  }
  get attempt(): number {
    return this.#attempt.number;
  }
  get maxAttempts(): number {
    return this.#attempt.delivery.maxAttempts;
  }
  get dueAt(): Date {
    const { dueAt, owedSince } = this.#attempt.delivery;
    return dateOf(dueAt ?? owedSince);
  }
  get occurredAt(): Date {
    return dateOf(this.#attempt.delivery.event.occurredAt);
  }
  get key(): string | undefined {
    return this.#attempt.delivery.event.key ?? undefined;
  }
  get actor(): string | undefined {
    return this.#attempt.delivery.event.actor ?? undefined;
  }
  get scope(): Readonly<Record<string, unknown>> {
    const { scope } = this.#attempt.delivery.event;
    return scope === null ? {} : JSON.parse(scope);
  }
  get correlationId(): string | undefined {
    return this.#attempt.delivery.event.correlationId ?? undefined;
  }
  get causationId(): string | undefined {
    return this.#attempt.delivery.event.causationId ?? undefined;
  }
  get trace(): Readonly<Record<string, string>> {
    const { trace } = this.#attempt.delivery.event;
    return trace === null ? {} : JSON.parse(trace);
  }
  get log(): Logger {
    return log.with({
      receiver: this.receiverKey,
      delivery: this.deliveryId,
      eventId: this.eventId,
      attempt: this.attempt,
    });
  }

  /** Made when it is first asked for: most receivers never look. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#attempt.interruption) this.#abort.abort(this.#attempt.interruption.reason);
    return this.#abort.signal;
  }

  get cause(): Cause {
    const { event, receiverKey } = this.#attempt.delivery;
    return { eventId: event.id, correlationId: event.correlationId ?? event.id, receiverKey, durable: true };
  }

  get [inside](): FiringSource {
    return this;
  }

  transaction(): Promise<Tx> {
    return this.#tracker.track(async () => (await this.#open()).scope);
  }

  fireIn<R>(work: (scope: TxScope) => Promise<R>): Promise<R> {
    return this.#tracker.track(async () => {
      // Without a turn's delay where it is open: what is called next may be a savepoint, which waits for earlier fires.
      const held = this.#returned ? undefined : this.#held;
      const { scope } = held ?? await this.#open();
      return await scope.fireIn(work);
    });
  }

  acknowledge(client: unknown): Promise<void> {
    if (this.#returned) return Promise.reject(this.#tooLate());
    if (this.#opening) {
      return Promise.reject(
        new TypeError(
          `Cannot acknowledge delivery ${this.deliveryId} in another transaction: ctx.transaction() carries it already`,
        ),
      );
    }
    // Anew at each call: the transaction of the last one may have been rolled back and be run again.
    return this.#tracker.track(() => this.#acknowledging = this.#acknowledge(client));
  }

  /** Tells the receiver to give up. */
  abort(reason: unknown): void {
    this.#abort?.abort(reason);
  }

  /** Whether a transaction of this delivery is open: its row lock is the lease meanwhile. */
  get holding(): boolean {
    return this.#opening !== undefined || this.#acknowledging !== undefined;
  }

  /** Whether the receiver has acknowledged in a transaction of its own. */
  get acknowledgedElsewhere(): boolean {
    return this.#acknowledging !== undefined;
  }

  /** Whether its transaction could not be opened because the database did not answer. */
  get unreachable(): boolean {
    return this.#unreachable;
  }

  /** Whether it still waits for its transaction to be opened. */
  get waiting(): boolean {
    return this.#waiting;
  }

  /** Whether the receiver asked for anything that has to be closed. */
  get used(): boolean {
    return this.#opening !== undefined || this.#acknowledging !== undefined || this.#tracker.open;
  }

  /** Closes a context that was not used. */
  end(): void {
    this.#returned = true;
  }

  /**
   * Called when the receiver is done: refuses all further use and waits for what it left under way.
   *
   * @returns the transaction that it asked for, if any
   * @throws the error of an opening or a fire that nobody awaited
   */
  async close(): Promise<Held | undefined> {
    this.#returned = true;
    await this.#tracker.finish();
    return await this.#opening?.catch(() => undefined);
  }

  /** As `close`, for an attempt that has failed or is given up: what is under way comes to nothing. */
  async giveUp(): Promise<Held | undefined> {
    this.#returned = true;
    await this.#tracker.quiet();
    return await this.#opening?.catch(() => undefined);
  }

  /**
   * Gives up at once whatever is open or about to be, without waiting: used when the receiver was interrupted and may
   * still be using it.
   */
  abandon(): void {
    this.#returned = true;
    void this.#opening?.then(async (held) => {
      void held.scope.fail();
      await held.acknowledgement.abandon();
      this.ambient.transaction.open = false;
    }).catch(() => {});
  }

  #open(): Promise<Held> {
    if (this.#returned) return Promise.reject(this.#tooLate());
    this.#opening ??= this.#begin();
    return this.#opening;
  }

  async #begin(): Promise<Held> {
    if (!this.#within) refuseWaitingForItself(this.core, "open the receiver's transaction");
    const { delivery, timeoutMs, leaseMs } = this.#attempt;
    const limits = { timeoutMs: timeoutMs ?? leaseMs };
    this.#waiting = true;
    const acknowledgement = await this.core.storage.acknowledge(delivery.fence, limits, this.#within)
      .catch((error) => {
        this.#unreachable = error instanceof DatabaseUnreachable;
        throw error;
      })
      .finally(() => this.#waiting = false);
    if (acknowledgement === null) throw this.#lost();
    this.ambient.transaction.open = true;
    return this.#held = { acknowledgement, scope: new TxScope(this.core, acknowledgement.tx) };
  }

  async #acknowledge(client: unknown): Promise<void> {
    const settlement = { fence: this.#attempt.delivery.fence, settlement: { kind: "succeeded" } as const };
    const source = (client as { [inside]?: unknown } | null | undefined)?.[inside];
    const scope = source instanceof TxScope ? source : new TxScope(this.core, this.core.storage.join(client), true);
    const answer = await this.core.storage.settleWithin(scope.storageTx, settlement);
    if (answer === "applied" || answer === "already") return;
    const reason = this.#lost();
    // Even if the receiver swallows it: work without its acknowledgement would be done again by whoever has the row.
    await scope.doom(reason);
    throw reason;
  }

  #lost(): LeaseLost {
    const reason = new LeaseLost(this.receiverKey, this.deliveryId);
    this.#attempt.interrupt({ kind: "lost", reason });
    return reason;
  }

  #tooLate(): TypeError {
    return new TypeError(`Cannot use the context of receiver "${this.receiverKey}": the receiver has returned`);
  }
}
