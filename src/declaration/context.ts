/** A transaction to work and to fire in: the driver's own handle, and savepoints. */
export interface Tx<Client = unknown> {
  /** The driver's handle of the transaction. */
  readonly client: Client;
  /**
   * Runs work under a savepoint. When it throws, all that it wrote is undone and what it fired leaves nothing: no
   * rows, no eager attempt, no on-commit call, no wake.
   *
   * @throws whatever the work throws
   */
  savepoint<R>(work: (tx: Tx<Client>) => Promise<R> | R): Promise<R>;
}

/**
 * What a receiver logs with. It is a LogTape logger of the category `["owed", "receiver"]`; the methods are written out
 * here, so that no dependency shows in the public types. `properties` fill the message's `{placeholders}`.
 */
export interface DeliveryLog {
  /** Logs what helps to find a fault. */
  debug(message: string, properties?: Record<string, unknown>): void;
  /** Logs what happened. */
  info(message: string, properties?: Record<string, unknown>): void;
  /** Logs what somebody should look at. */
  warn(message: string, properties?: Record<string, unknown>): void;
  /** Logs what went wrong. */
  error(message: string, properties?: Record<string, unknown>): void;
}

/** What a receiver is told about the delivery that it runs for. Its parts come from the event's row. */
export interface DeliveryContext<Client = unknown> {
  /** UUID v7 of the event: the message id everywhere. */
  readonly eventId: string;
  /** The event's name. */
  readonly eventName: string;
  /** The version under which the row was written. */
  readonly version: number;
  /** The delivery's id; empty for inline and on-commit receivers, which have no row. */
  readonly deliveryId: string;
  /** The receiver's key. */
  readonly receiverKey: string;
  /** The target of a fan-out; empty without one. */
  readonly target: string;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  /** The attempts that the delivery was fired with. */
  readonly maxAttempts: number;
  /** When the delivery was due. Compare business deadlines with this, not with the clock. */
  readonly dueAt: Date;
  /** When the fact happened. */
  readonly occurredAt: Date;
  /** The aggregate id, if the event has one. */
  readonly key: string | undefined;
  /** Who caused it, such as `"user:42"`. */
  readonly actor: string | undefined;
  /** The attribution facts. */
  readonly scope: Readonly<Record<string, unknown>>;
  /** The chain that the event belongs to. */
  readonly correlationId: string | undefined;
  /** The event that caused this one. */
  readonly causationId: string | undefined;
  /** The trace that the event was fired in: `traceparent`, `tracestate`; empty without one. */
  readonly trace: Readonly<Record<string, string>>;
  /**
   * Aborts at the receiver's timeout, when the lease is lost, and at the end of a stopping relay's grace. Its reason
   * tells which.
   */
  readonly signal: AbortSignal;
  /** A logger that names the delivery on each line. Without a LogTape sink of the application's nothing is printed. */
  readonly log: DeliveryLog;
  /**
   * The transaction that carries this delivery's acknowledgement, opened at the first call: what is written in it
   * commits exactly when the delivery is recorded as succeeded. For an inline receiver it is the firing transaction.
   *
   * @throws {LeaseLost} when somebody else holds the delivery by now; the attempt ends and nothing is recorded
   * @throws {TypeError} for an on-commit receiver, which has nothing to acknowledge, or after the receiver returned
   */
  transaction(): Promise<Tx<Client>>;
  /**
   * Records this delivery's success in a transaction that the receiver's own code opened with an ORM; it takes effect
   * when that transaction commits.
   *
   * @param client the open transaction: the driver's own, or what `join` made of it
   * @throws {LeaseLost} when somebody else holds the delivery by now; let it roll the transaction back
   */
  acknowledge(client: unknown): Promise<void>;
}
