import type { Instant } from "../../instant.ts";
import { isDeliveryId } from "../delivery_id.ts";
import type { ClaimedDelivery, DeliveryRecord, EventRecord, HealthRecord, NewDelivery, NewEvent } from "../records.ts";
import { type Answer, claimKey, type Fence, type FencedSettlement, latestClaims } from "../settlement.ts";
import type {
  Acknowledgement,
  AcknowledgementLimits,
  Announcement,
  Appended,
  Capabilities,
  ClaimOnlyRequest,
  ClaimRequest,
  DeliveryFilter,
  EventFilter,
  Migration,
  Renewal,
  Reopened,
  Reopening,
  Storage,
  StorageTransaction,
  TakeRequest,
} from "../storage.ts";
import { openAcknowledgement, openAcknowledgementWithin } from "./acknowledgement.ts";
import { append } from "./append.ts";
import { claimDue, claimNamed, takeOver } from "./claim.ts";
import type { Row, Statement } from "./clients/client.ts";
import type { Database } from "./database.ts";
import { reopen } from "./reopen.ts";
import { claimKeysOf, deliveryOf, eventOf, healthOf } from "./rows.ts";
import { scriptOf } from "./migrations.ts";
import { settleAll, settleAllIn, settleIn } from "./settle.ts";
import { doomed, SqliteTransaction } from "./transaction.ts";
import { idsText, microseconds } from "./values.ts";

/** The contract over a SQLite database: each verb is a statement or two; the rules are in the files beside this. */
export class SqliteStorage<Tx> implements Storage<Tx> {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly migrations: readonly Migration[];
  readonly #database: Database<Tx>;
  readonly #ownsClient: boolean;

  constructor(name: string, database: Database<Tx>, ownsClient: boolean) {
    this.name = name;
    this.migrations = database.migrations;
    this.#database = database;
    this.#ownsClient = ownsClient;
    this.capabilities = {
      // Wakes stay in the process; others are found by the poll.
      listen: false,
      singleWriter: true,
      // In memory there is one connection: while a receiver's transaction is open, no other receiver could do a thing.
      get maxConcurrency() {
        return database.place?.kind === "memory" ? 1 : Number.MAX_SAFE_INTEGER;
      },
    };
  }

  async transaction<R>(work: (tx: StorageTransaction<Tx>) => Promise<R>): Promise<R> {
    const own = await this.#database.begin();
    const tx = SqliteTransaction.own(own.open);
    try {
      const result = await own.during(() => work(tx));
      if (tx.isDoomed) throw doomed("transaction");
      await own.commit();
      return result;
    } catch (error) {
      await own.rollback();
      throw error;
    } finally {
      tx.watch.refuse("Cannot use this transaction: it has ended");
    }
  }

  join(client: unknown): StorageTransaction<Tx> {
    const open = this.#database.client.join(client);
    if (open === null) {
      throw new TypeError(`Cannot join this transaction: expected a transaction of the ${this.name} client`);
    }
    if (!open.isOpen) throw new TypeError("Cannot join this transaction: it has been committed or rolled back");
    return SqliteTransaction.foreign(open);
  }

  async yielding<R>(work: () => Promise<R>): Promise<R> {
    return await this.#database.yielding(work);
  }

  async append(
    tx: StorageTransaction,
    events: readonly NewEvent[],
    deliveries: readonly NewDelivery[],
    now?: Instant,
  ): Promise<Appended> {
    const { sql } = this.#database;
    return await this.#in(tx, (within) => append(sql, within, events, deliveries, now ?? null));
  }

  async retract(tx: StorageTransaction, eventIds: readonly string[]): Promise<void> {
    const { retractDeliveries, retractEvents } = this.#database.sql;
    const args = [JSON.stringify(eventIds)];
    await this.#in(tx, (within) => within.run([{ sql: retractDeliveries, args }, { sql: retractEvents, args }]));
  }

  async claim(request: ClaimRequest, within?: StorageTransaction): Promise<ClaimedDelivery[]> {
    return await claimDue(this.#database, request, within && SqliteTransaction.of(within));
  }

  async claimOnly(request: ClaimOnlyRequest, within?: StorageTransaction): Promise<ClaimedDelivery[]> {
    return await claimNamed(this.#database, request, within && SqliteTransaction.of(within));
  }

  async take(request: TakeRequest): Promise<ClaimedDelivery | null> {
    return await takeOver(this.#database, request);
  }

  async settle(
    settlements: readonly FencedSettlement[],
    now: Instant | null = null,
    within?: StorageTransaction,
  ): Promise<Answer[]> {
    if (within) return await settleAllIn(this.#database, SqliteTransaction.of(within), settlements, now);
    return await settleAll(this.#database, settlements, now);
  }

  async acknowledge(
    fence: Fence,
    { timeoutMs }: AcknowledgementLimits,
    within?: StorageTransaction,
  ): Promise<Acknowledgement<Tx> | null> {
    if (!within) return await openAcknowledgement(this.#database, fence, timeoutMs);
    return await openAcknowledgementWithin(
      this.#database,
      fence,
      SqliteTransaction.of(within) as SqliteTransaction<Tx>,
    );
  }

  async settleWithin(tx: StorageTransaction, settlement: FencedSettlement): Promise<Answer> {
    return await settleIn(this.#database, SqliteTransaction.of(tx), settlement);
  }

  async renew(all: readonly Renewal[], now?: Instant): Promise<Set<string>> {
    const renewals = latestClaims(all);
    if (renewals.length === 0) return new Set();
    // Asked for now, and perhaps answered much later: a commit that comes before renews these too.
    const answered = now === undefined ? this.#database.leases.asked(renewals) : () => {};
    let renewed = new Set<string>();
    try {
      const [rows] = await this.#database.write([this.#database.renewal(renewals, now ?? null)]);
      renewed = claimKeysOf(rows!);
      return new Set(renewals.filter(({ fence }) => renewed.has(claimKey(fence))).map(({ fence }) => fence.id));
    } finally {
      answered(renewed);
      // From here on it is another process's: a commit of this one must not keep it alive.
      for (const { fence, parked } of renewals) if (parked) this.#database.leases.ended(fence);
    }
  }

  async releaseUnknown(worker: string, held: readonly string[]): Promise<number> {
    const args = [worker, idsText(held)];
    const [rows] = await this.#database.write([{ sql: this.#database.sql.releaseUnknown, args }]);
    return rows!.length;
  }

  async nextDue(receivers: readonly string[], now?: Instant): Promise<number | null> {
    const args = [JSON.stringify(receivers), now ?? null];
    const [row] = await this.#database.read({ sql: this.#database.sql.nextDue, args });
    const wait = row?.row ?? null;
    return wait === null ? null : Math.ceil(Number(wait) / 1000);
  }

  async strangers(known: readonly string[], graceMs: number, now?: Instant): Promise<string[]> {
    const args = [JSON.stringify(known), now ?? null, microseconds(graceMs)];
    const rows = await this.#database.read({ sql: this.#database.sql.strangers, args });
    return rows.map((row) => String(row.row));
  }

  async announce({ app, release, receivers, now }: Announcement): Promise<void> {
    if (receivers.length === 0) return;
    const args = [JSON.stringify(receivers), now ?? null, app, release];
    await this.#database.write([{ sql: this.#database.sql.announce, args }]);
  }

  async reopen(events: readonly Reopening[], now?: Instant): Promise<Reopened> {
    return await reopen(this.#database, events, now ?? null);
  }

  async health(now?: Instant): Promise<HealthRecord> {
    return healthOf(await this.#database.read({ sql: this.#database.sql.health, args: [now ?? null] }));
  }

  async findEvents({ name, ids }: EventFilter, within?: StorageTransaction): Promise<EventRecord[]> {
    const args = [name ?? null, ids === undefined ? null : JSON.stringify(ids)];
    const sql = this.#database.sql.findEvents({ name: name !== undefined, ids: ids !== undefined });
    return (await this.#read({ sql, args }, within)).map(eventOf);
  }

  async findDeliveries(
    { eventId, receiverKey, deliveryId }: DeliveryFilter,
    now?: Instant,
    within?: StorageTransaction,
  ): Promise<DeliveryRecord[]> {
    if (deliveryId !== undefined && !isDeliveryId(deliveryId)) return [];
    const args = [eventId ?? null, receiverKey ?? null, deliveryId ?? null, now ?? null];
    const sql = this.#database.sql.findDeliveries({
      eventId: eventId !== undefined,
      receiverKey: receiverKey !== undefined,
      deliveryId: deliveryId !== undefined,
    });
    return (await this.#read({ sql, args }, within)).map(deliveryOf);
  }

  async wake(): Promise<void> {
    const { shared } = await this.#database.ready();
    for (const listener of shared.listeners) queueMicrotask(listener);
  }

  async listen(onWake: () => void, signal: AbortSignal): Promise<void> {
    const { shared } = await this.#database.ready();
    if (signal.aborted) return;
    const listener = () => {
      if (!signal.aborted) onWake();
    };
    shared.listeners.add(listener);
    signal.addEventListener("abort", () => shared.listeners.delete(listener), { once: true });
  }

  migrationScript(): string {
    return scriptOf(this.#database.names, this.migrations);
  }

  async migrate(): Promise<Migration[]> {
    return await this.#database.migrate();
  }

  async pendingMigrations(): Promise<Migration[]> {
    return await this.#database.pendingMigrations();
  }

  async close(): Promise<void> {
    await this.#database.close(this.#ownsClient);
  }

  async #read(statement: Statement, within: StorageTransaction | undefined): Promise<readonly Row[]> {
    if (!within) return await this.#database.read(statement);
    return await this.#in(within, async (tx) => (await tx.run([statement]))[0]!);
  }

  /** Runs in somebody's transaction; what the driver throws is said in our words. */
  async #in<R>(tx: StorageTransaction, work: (tx: SqliteTransaction<unknown>) => Promise<R>): Promise<R> {
    try {
      return await work(SqliteTransaction.of(tx));
    } catch (error) {
      throw this.#database.explained(error);
    }
  }
}
