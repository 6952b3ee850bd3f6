/** Thrown by `fire` when a payload cannot be stored, before anything is written. It never holds the value. */
export class PayloadRefused extends TypeError {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name = "PayloadRefused";
  /** The event's name. */
  readonly eventName: string;
  /** Where in the payload, such as `items[2].price`; empty for the payload itself. */
  readonly path: string;

  /** Built by the library. */
  constructor(eventName: string, path: string, reason: string) {
    super(`Cannot fire "${eventName}": the payload${path === "" ? "" : ` at ${path}`} ${reason}`);
    this.eventName = eventName;
    this.path = path;
  }
}

/** Thrown by `fire` when an event of this name was fired with the same dedupe key already. Nothing is written. */
export class DuplicateEvent extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name = "DuplicateEvent";
  /** The event's name. */
  readonly eventName: string;
  /** The id of the event that is there. */
  readonly existingId: string;

  /** Built by the library. */
  constructor(eventName: string, existingId: string) {
    super(`Cannot fire "${eventName}": its dedupe key was fired already, as event ${existingId}`);
    this.eventName = eventName;
    this.existingId = existingId;
  }
}

/** The reason with which `ctx.signal` aborts when this worker no longer holds the delivery. Nothing is recorded. */
export class LeaseLost extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name = "LeaseLost";

  /** Built by the library. */
  constructor(receiverKey: string, deliveryId: string) {
    super(
      `Receiver "${receiverKey}" no longer holds delivery ${deliveryId}: its lease lapsed and the row was taken; ` +
        `declare a longer lease if it blocks the event loop`,
    );
  }
}

/** The reason with which `ctx.signal` aborts, and the attempt fails, when a receiver outlives its timeout. */
export class ReceiverTimeout extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name = "ReceiverTimeout";

  /** Built by the library. */
  constructor(receiverKey: string, timeoutMs: number) {
    super(`Receiver "${receiverKey}" did not finish within its timeout of ${timeoutMs} ms`);
  }
}

/** Thrown by the storage when a receiver's work cannot be kept because a statement of it had failed. */
export class WorkFailed extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name = "WorkFailed";

  /** Built by the library; `cause` is the statement's error. */
  constructor(cause: unknown) {
    super("A statement in the receiver's transaction failed and the receiver went on", { cause });
  }
}

/**
 * Thrown by `deliverTask` for a message that no relay of this release can have enqueued. Bringing it again cannot help:
 * a queue sets it aside, and the delivery comes back by its lease.
 */
export class TaskRefused extends TypeError {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name = "TaskRefused";

  /** Built by the library. It never holds the message. */
  constructor(found: string) {
    super(
      `Cannot deliver a task: ${found}; expected what a relay enqueued, { v: 1, deliveryId, claimedBy, claimedAt } ` +
        `with strings of digits for the id and the moment`,
    );
  }
}

/** Thrown when the database lacks migrations. */
export class MigrationsMissing extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name = "MigrationsMissing";
  /** What is missing, in order. */
  readonly missing: readonly { readonly version: number; readonly name: string }[];

  /** Built by the library. */
  constructor(storage: string, missing: readonly { readonly version: number; readonly name: string }[]) {
    const list = missing.map(({ version, name }) => `${version} "${name}"`).join(", ");
    super(
      `Cannot use the ${storage} database: ${missing.length === 1 ? "migration" : "migrations"} ${list} ` +
        `${
          missing.length === 1 ? "is" : "are"
        } missing; run the relay's command "migrate", or storage.migrate(), first`,
    );
    this.missing = missing.map(({ version, name }) => ({ version, name }));
  }
}

/** Thrown when no connection to the database can be had. */
export class DatabaseUnreachable extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name = "DatabaseUnreachable";
  /** Where the database was looked for, without a password. */
  readonly address: string;

  /** Built by the library; `what` completes "Cannot ...", and `cause` is the driver's error. */
  constructor(what: string, address: string, cause: unknown) {
    super(
      `Cannot ${what}: no connection to the database at ${address}; check that it runs and can be reached from here`,
      { cause },
    );
    this.address = address;
  }
}
