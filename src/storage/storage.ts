/**
 * The seam between the rules and the databases: intent verbs, batch-shaped, one round trip or one transaction each.
 * Above it nobody knows SQL; below it nobody decides.
 *
 * `now` is optional in every verb: absent, the database's clock decides, so that relays with skewed clocks cannot hurt
 * each other; tests pass one. `within` runs the verb inside a transaction that is open already.
 */
import type { Instant } from "../instant.ts";
import type { ClaimedDelivery, DeliveryRecord, EventRecord, HealthRecord, NewDelivery, NewEvent } from "./records.ts";
import type { Answer, Fence, FencedSettlement, Settlement } from "./settlement.ts";

/** What a backend can do; shared code asks these and never for the backend's name. */
export interface Capabilities {
  /** Whether `listen` hears what other processes send with `wake`. */
  readonly listen: boolean;
  /**
   * Whether an open transaction is the whole database's write lock. Then a second transaction of the same task would
   * wait for itself, and is refused.
   */
  readonly singleWriter: boolean;
  /** How many receivers may run at once here; more is clamped with a warning. */
  readonly maxConcurrency: number;
}

/** A transaction that is open on the database. */
export interface StorageTransaction<Client = unknown> {
  /** The user's own driver handle of this transaction. */
  readonly client: Client;
  /** Runs work under a savepoint, which is rolled back when it throws. */
  savepoint<R>(work: (tx: StorageTransaction<Client>) => Promise<R>): Promise<R>;
  /** Makes sure that this transaction cannot commit, whoever opened it. */
  doom(): Promise<void>;
}

/** Where in a receiver's queue a claim may begin: everything before it was seen already. */
export interface Position {
  /** The moment from which the row could be claimed. */
  readonly availableAt: Instant;
  /** The delivery's id, which orders rows of one moment. */
  readonly id: string;
}

/** One receiver's part of a claim. */
export interface ClaimedReceiver {
  /** The receiver's key. */
  readonly key: string;
  /** How long its claims last, in milliseconds. */
  readonly leaseMs: number;
  /** Absent: from the beginning. */
  readonly from?: Position;
}

/** A claim of what is due, in order of (availableAt, id). */
export interface ClaimRequest {
  /** Who claims: the worker's id and a nonce of this start of its process. */
  readonly worker: string;
  /** Whose rows may be claimed. */
  readonly receivers: readonly ClaimedReceiver[];
  /** Rows at most. */
  readonly limit: number;
  /** Takes failed rows before their backoff is over; a scheduled row is never taken early. */
  readonly ignoreBackoff?: boolean;
  /** Takes only rows that have been due for at least this long, in milliseconds. */
  readonly dueForMs?: number;
  /** The moment of the claim; absent: the database's clock. */
  readonly now?: Instant | undefined;
}

/** A claim of named rows, whatever their place in the queue. */
export interface ClaimOnlyRequest {
  /** Who claims: the worker's id and a nonce of this start of its process. */
  readonly worker: string;
  /** Whose rows may be claimed. */
  readonly receivers: readonly ClaimedReceiver[];
  /** Rows of these events that are due, or these very deliveries (a pending one needs not be due, a failed one does). */
  readonly only: { readonly eventIds: readonly string[] } | { readonly deliveryIds: readonly string[] };
  /** The moment of the claim; absent: the database's clock. */
  readonly now?: Instant | undefined;
}

/** A take-over of one claimed row. */
export interface TakeRequest {
  /** The claim that it was handed over with. */
  readonly fence: Fence;
  /** The new worker. */
  readonly worker: string;
  /** How long its claim lasts, in milliseconds. */
  readonly leaseMs: number;
  /** The moment of the take-over; absent: the database's clock. */
  readonly now?: Instant | undefined;
}

/** What replaying an event is to leave: these deliveries owed, unless they are owed already. */
export interface Reopening {
  /** UUID of the event. */
  readonly eventId: string;
  /** What is to be owed for it. */
  readonly deliveries: readonly NewDelivery[];
}

/** What `reopen` did. */
export interface Reopened {
  /** Settled deliveries that are owed again. */
  readonly reopened: number;
  /** Deliveries that were not there before. */
  readonly added: number;
}

/** The fences of running deliveries and how long each is to last from now. */
export interface Renewal {
  /** The claim to extend. */
  readonly fence: Fence;
  /** How long it lasts from now, in milliseconds. */
  readonly leaseMs: number;
  /**
   * Renewed for the last time by this process, for somebody else to take over: the row also leaves its place in the
   * queue for the lease's end, so that claims need not step over it.
   */
  readonly parked?: boolean;
}

/** A receiver's own transaction, which carries its acknowledgement. */
export interface Acknowledgement<Client = unknown> {
  /** The transaction that the receiver works in. */
  readonly tx: StorageTransaction<Client>;
  /**
   * Ends it. `succeeded` commits the receiver's work and its acknowledgement together. Anything else undoes the work
   * and records the settlement under the same row lock, so that no thief can come in between; `released` and a lost
   * fence record nothing.
   *
   * @throws {WorkFailed} when the work cannot be kept: a statement in it had failed. Nothing has been recorded, the
   * transaction is still held, and `finish` must be called again with the failure.
   */
  finish(settlement: Settlement): Promise<Answer>;
  /** Rolls everything back and frees the row; used when nothing may be recorded. Destroys a hung connection. */
  abandon(): Promise<void>;
}

/** How long an acknowledgement's transaction may take. */
export interface AcknowledgementLimits {
  /** The receiver's timeout (or its lease, where it has none): ends idle and running statements on the server. */
  readonly timeoutMs: number;
}

/** What `append` did. */
export interface Appended {
  /** New event id to the id that is there already, for those whose dedupe key was taken. They wrote nothing. */
  readonly duplicates: ReadonlyMap<string, string>;
}

/** Who lists which receivers. */
export interface Announcement {
  /** The application's name. */
  readonly app: string;
  /** Its release; empty when it has none. */
  readonly release: string;
  /** The keys that this process lists. */
  readonly receivers: readonly string[];
  /** The moment to record; absent: the database's clock. */
  readonly now?: Instant | undefined;
}

/** Which events `findEvents` gives, in the order they were fired. */
export interface EventFilter {
  /** Only events of this name. */
  readonly name?: string;
  /** Only these events; an empty list gives none. */
  readonly ids?: readonly string[];
}

/** Which deliveries `findDeliveries` gives, in the order of their ids. */
export interface DeliveryFilter {
  /** Only deliveries of this event. */
  readonly eventId?: string;
  /** Only deliveries to this receiver. */
  readonly receiverKey?: string;
  /** Only this delivery. */
  readonly deliveryId?: string;
}

/** A step of the schema. Append-only, alike in number and name on both backends. */
export interface Migration {
  /** Its number, from 1. */
  readonly version: number;
  /** What it is for, in a few words. */
  readonly name: string;
  /** The SQL as it is run, for a DBA to read. */
  readonly sql: string;
}

/** The database of an outbox. Made by `postgresStorage` or `libsqlStorage`; `Client` is the driver's transaction. */
export interface Storage<Client = unknown> {
  /** For messages and logs alone. */
  readonly name: string;
  /** What this backend can do. */
  readonly capabilities: Capabilities;

  /** Runs work in a transaction of its own: commits when it resolves, rolls back when it throws. */
  transaction<R>(work: (tx: StorageTransaction<Client>) => Promise<R>): Promise<R>;
  /**
   * Wraps a transaction that somebody else's code opened.
   *
   * @throws {TypeError} when the value is no open transaction of a driver that this storage knows.
   */
  join(client: unknown): StorageTransaction<Client>;
  /**
   * Runs work during which somebody else's code opens and commits a transaction on the caller's client. A backend
   * with one writer keeps its own statements out of the way meanwhile.
   */
  yielding<R>(work: () => Promise<R>): Promise<R>;

  /** Writes events and their debts: one statement (at most two in one batch on SQLite), whatever their number. */
  append(
    tx: StorageTransaction,
    events: readonly NewEvent[],
    deliveries: readonly NewDelivery[],
    now?: Instant,
  ): Promise<Appended>;
  /** Takes back events that this very transaction wrote. */
  retract(tx: StorageTransaction, eventIds: readonly string[]): Promise<void>;

  /** Claims what is due, ordered by (availableAt, id). Never waits for a lock. */
  claim(request: ClaimRequest, within?: StorageTransaction): Promise<ClaimedDelivery[]>;
  /** Claims named rows that are owed and not under a live lease. */
  claimOnly(request: ClaimOnlyRequest, within?: StorageTransaction): Promise<ClaimedDelivery[]>;
  /**
   * Takes a claimed row over under exactly this claim, in a commit of its own: the claim's columns become the new
   * worker's. Null when the row is not claimed so (any more): a message that came twice, late, or for somebody else.
   */
  take(request: TakeRequest): Promise<ClaimedDelivery | null>;
  /** Records outcomes, each under its own fence; answers in the same order. Never waits for a lock. */
  settle(settlements: readonly FencedSettlement[], now?: Instant, within?: StorageTransaction): Promise<Answer[]>;
  /**
   * Opens the transaction that a receiver works in, locks the row and checks the fence.
   *
   * @returns null when the claim is lost. With `within`, a savepoint of that transaction is used.
   * @throws {DatabaseUnreachable} when the database cannot be had, or cannot serve at the moment; no fault of the work
   */
  acknowledge(
    fence: Fence,
    limits: AcknowledgementLimits,
    within?: StorageTransaction,
  ): Promise<Acknowledgement<Client> | null>;
  /** Records an outcome in a transaction that somebody else opened; not `applied` when the claim is lost. */
  settleWithin(tx: StorageTransaction, settlement: FencedSettlement): Promise<Answer>;
  /**
   * Extends leases. Returns the ids extended: the rest are lost, or locked by an own transaction. Of a row that is
   * named under several claims, the answer is that of the latest; the others are lost. Never waits.
   */
  renew(renewals: readonly Renewal[], now?: Instant): Promise<Set<string>>;
  /**
   * Gives back what this worker holds in the database without knowing it: an answer that was lost on the way. Parked
   * rows, which it has handed over, stay. A claim that was given back so is lost to whoever holds it after all.
   */
  releaseUnknown(worker: string, held: readonly string[]): Promise<number>;

  /** Milliseconds until anything of these receivers is due or lapses; 0 when it is, null when there is nothing. */
  nextDue(receivers: readonly string[], now?: Instant): Promise<number | null>;
  /** Receiver keys with rows due for at least `graceMs` that are not in `known` and that nobody has listed since. */
  strangers(known: readonly string[], graceMs: number, now?: Instant): Promise<string[]>;
  /** Records that this process lists these receivers. */
  announce(announcement: Announcement): Promise<void>;

  /**
   * Makes deliveries owed again, in one transaction: a settled one starts afresh (attempts, lapses and error are gone,
   * it is due and owed from now on), a missing one is added, one that is owed is left as it is, its claim too. The
   * events' rows are locked in the order of their ids, so that no prune deletes them meanwhile; one that is gone is
   * passed over.
   */
  reopen(events: readonly Reopening[], now?: Instant): Promise<Reopened>;

  /** Counts of what is owed and dead. */
  health(now?: Instant): Promise<HealthRecord>;
  /** Events in the order they were fired. */
  findEvents(filter: EventFilter, within?: StorageTransaction): Promise<EventRecord[]>;
  /** Deliveries in the order of their ids. */
  findDeliveries(filter: DeliveryFilter, now?: Instant, within?: StorageTransaction): Promise<DeliveryRecord[]>;

  /** Tells whoever listens that there is work. Best effort: it cannot fail and takes no lock that a commit needs. */
  wake(): Promise<void>;
  /**
   * Calls back at every wake until the signal aborts, and reconnects by itself. Absent where it cannot be had.
   * Resolves once it is listening, or once it is known that it cannot.
   */
  listen(onWake: () => void, signal: AbortSignal): Promise<void>;

  /** The migrations, in order. */
  readonly migrations: readonly Migration[];
  /**
   * The whole of them as one script, for somebody who may change the schema where the application may not: on an empty
   * database it does what `migrate` does, and leaves the same record.
   */
  migrationScript(): string;
  /** Applies what is missing under a lock; returns what it applied. */
  migrate(): Promise<Migration[]>;
  /**
   * What is missing.
   *
   * @throws {Error} when the database has a migration that this release does not know, or one whose text differs.
   */
  pendingMigrations(): Promise<Migration[]>;

  /** Closes what this storage opened by itself; the caller's client stays open. */
  close(): Promise<void>;
}
