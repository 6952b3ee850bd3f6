import type { Logger } from "../log.ts";
import { type Core, inside } from "../core.ts";
import type { DeliveryContext, Tx } from "../declaration/context.ts";
import type { Receiver } from "../declaration/receiver.ts";
import { dateOf } from "../instant.ts";
import { logger } from "../log.ts";
import type { NewEvent } from "../storage/records.ts";
import { type Ambient, ambient, type Cause, NO_SCOPE, surrounded, surrounding } from "./ambient.ts";
import { ownTransaction } from "./own_transaction.ts";
import type { FiringSource, TxScope } from "./transaction.ts";

/** The context of a receiver without a row: inline in the firing transaction, or after its commit in none. */
export class InlineContext implements DeliveryContext {
  readonly deliveryId = "";
  readonly target = "";
  readonly attempt = 1;
  readonly maxAttempts = 1;
  readonly occurredAt: Date;
  readonly dueAt: Date;
  readonly receiverKey: string;
  readonly signal: AbortSignal = new AbortController().signal;
  readonly #core: Core;
  readonly #event: NewEvent;
  readonly #scope: TxScope | undefined;

  constructor(core: Core, event: NewEvent, receiverKey: string, scope: TxScope | undefined) {
    this.#core = core;
    this.#event = event;
    this.#scope = scope;
    this.receiverKey = receiverKey;
    const occurredAt = event.occurredAt ?? core.clock.now();
    this.occurredAt = occurredAt === undefined ? new Date() : dateOf(occurredAt);
    this.dueAt = this.occurredAt;
  }

  get eventId(): string {
    return this.#event.id;
  }

  get eventName(): string {
    return this.#event.name;
  }

  get version(): number {
    return this.#event.version;
  }

  get key(): string | undefined {
    return this.#event.key ?? undefined;
  }

  get actor(): string | undefined {
    return this.#event.actor ?? undefined;
  }

  get scope(): Readonly<Record<string, unknown>> {
    return this.#event.scope === null ? {} : JSON.parse(this.#event.scope);
  }

  get correlationId(): string | undefined {
    return this.#event.correlationId ?? undefined;
  }

  get causationId(): string | undefined {
    return this.#event.causationId ?? undefined;
  }

  get trace(): Readonly<Record<string, string>> {
    return this.#event.trace === null ? {} : JSON.parse(this.#event.trace);
  }

  get log(): Logger {
    return logger(["receiver"]).with({ receiver: this.receiverKey, eventId: this.eventId });
  }

  /** Runs the receiver; what it fires is caused by this event. */
  async run(receiver: Receiver, payload: unknown): Promise<void> {
    const around: Ambient = {
      cause: this.#cause(),
      scope: ambient()?.scope ?? NO_SCOPE,
      transaction: this.#scope ? surrounding(this.#core, true) : ambient()?.transaction,
    };
    await surrounded(around, () => receiver.handler(payload as never, this));
  }

  transaction(): Promise<Tx> {
    if (this.#scope) return Promise.resolve(this.#scope);
    return Promise.reject(
      new TypeError(
        `Cannot open the transaction of receiver "${this.receiverKey}": an on-commit receiver has no delivery to acknowledge`,
      ),
    );
  }

  acknowledge(): Promise<void> {
    return Promise.reject(
      new TypeError(`Cannot acknowledge for receiver "${this.receiverKey}": only a durable receiver has a delivery`),
    );
  }

  get [inside](): FiringSource {
    const scope = this.#scope;
    return {
      core: this.#core,
      outside: scope === undefined,
      cause: this.#cause(),
      fireIn: (work) => scope ? scope.fireIn(work) : ownTransaction(this.#core, work),
    };
  }

  #cause(): Cause {
    return {
      eventId: this.#event.id,
      correlationId: this.#event.correlationId ?? this.#event.id,
      receiverKey: this.receiverKey,
      durable: false,
    };
  }
}
