import { MigrationsMissing } from "../../errors.ts";
import type { Instant } from "../../instant.ts";
import { isDeliveryId } from "../delivery_id.ts";
import type { GuardState } from "../guard.ts";
import type { ClaimedDelivery, DeliveryRecord, EventRecord, HealthRecord, NewDelivery, NewEvent } from "../records.ts";
import { type Answer, type Fence, type FencedSettlement, latestClaims } from "../settlement.ts";
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
import { DatabaseUnavailable } from "../unavailable.ts";
import { wantedOf } from "../wanted.ts";
import { acknowledge, type Ground } from "./acknowledgement.ts";
import { append } from "./appending.ts";
import { type Bound, claimedFrom, claimOf, claimOnlyOf, takeOf } from "./claiming.ts";
import type { Joined, Parameter, Row, Statement } from "./clients/client.ts";
import { joined } from "./clients/recognise.ts";
import { type Connections, sessionOf } from "./connections.ts";
import { codeOf, isConnectionLoss, isMissingSchema, isPassing } from "./faults.ts";
import { channelOf } from "./identifiers.ts";
import { listen } from "./listen.ts";
import { Migrations } from "./migrate.ts";
import { reopen } from "./reopening.ts";
import { deliveryOf, eventOf, healthOf, stampOrNull } from "./rows.ts";
import { renewalsOf, type Run, settle, settleTogether } from "./settling.ts";
import { Scopes } from "./scopes.ts";
import { type Statements, statementsOf } from "./statements.ts";
import { joinedMark, ours, PostgresTransaction } from "./transaction.ts";

const ENDED = "Cannot use this transaction: it has ended";

/** The verbs on Postgres: each binds its parameters, runs its statement where it belongs, and reads the rows. */
export class PostgresStorage<Tx> implements Storage<Tx> {
  readonly name = "Postgres";
  readonly capabilities: Capabilities;
  readonly #connections: Connections<Tx>;
  readonly #statements: Statements;
  readonly #migrations: Migrations;
  readonly #channel: string;
  readonly #ground: Ground<Tx>;

  constructor(connections: Connections<Tx>, schema: string) {
    this.#connections = connections;
    this.#statements = statementsOf(schema);
    this.#migrations = new Migrations(schema, this.#statements);
    this.#channel = channelOf(schema);
    this.#ground = { connections, statements: this.#statements };
    this.capabilities = { listen: true, singleWriter: false, maxConcurrency: connections.room };
  }

  async transaction<R>(work: (tx: StorageTransaction<Tx>) => Promise<R>): Promise<R> {
    const scopes = new Scopes();
    const state: GuardState = { refusal: null, failed: () => {}, scopes };
    try {
      return await this.#connections.transaction(async (begun) => {
        try {
          const result = await work(new PostgresTransaction(begun, this.#statements, state));
          state.refusal = ENDED;
          if (scopes.areOpen) await scopes.end();
          return result;
        } catch (error) {
          state.refusal = ENDED;
          await scopes.end().catch(() => {});
          throw error;
        }
      });
    } catch (error) {
      throw await this.#explained("open a transaction", error, state.refusal === null);
    }
  }

  join(client: unknown): StorageTransaction<Tx> {
    const tx = new PostgresTransaction(joined<Tx>(client), this.#statements, null, joinedMark());
    // Now, while it is open for certain, and outside of whatever savepoints the caller sets later.
    tx.mark(this.#connections.prepare);
    return tx;
  }

  yielding<R>(work: () => Promise<R>): Promise<R> {
    return work();
  }

  async append(
    tx: StorageTransaction,
    events: readonly NewEvent[],
    deliveries: readonly NewDelivery[],
    now?: Instant,
  ): Promise<Appended> {
    try {
      const { joined } = ours(tx);
      const { prepare } = this.#connections;
      const mark = ours(tx).mark(prepare);
      return await append(joined, this.#statements, events, deliveries, now, prepare, mark);
    } catch (error) {
      throw await this.#explained("write the events", error, false);
    }
  }

  async retract(tx: StorageTransaction, eventIds: readonly string[]): Promise<void> {
    if (eventIds.length === 0) return;
    await ours(tx).joined.run(this.#statements.retract, [JSON.stringify(eventIds)], this.#connections.prepare);
  }

  async claim(request: ClaimRequest, within?: StorageTransaction): Promise<ClaimedDelivery[]> {
    return await this.#claimed(claimOf(request, this.#statements), request.worker, within);
  }

  async claimOnly(request: ClaimOnlyRequest, within?: StorageTransaction): Promise<ClaimedDelivery[]> {
    return await this.#claimed(claimOnlyOf(request, this.#statements), request.worker, within);
  }

  async take(request: TakeRequest): Promise<ClaimedDelivery | null> {
    const [taken] = await this.#claimed(takeOf(request, this.#statements), request.worker, undefined);
    return taken ?? null;
  }

  async settle(
    settlements: readonly FencedSettlement[],
    now?: Instant,
    within?: StorageTransaction,
  ): Promise<Answer[]> {
    if (within === undefined) return await settle(this.#running("settle", within), this.#statements, settlements, now);
    // In a transaction nothing can be sent again: the server has given it up.
    const { settle: statement, classify } = this.#statements;
    return await settleTogether(this.#running("settle", within), statement, classify, settlements, now);
  }

  async acknowledge(
    fence: Fence,
    limits: AcknowledgementLimits,
    within?: StorageTransaction,
  ): Promise<Acknowledgement<Tx> | null> {
    const outer: Joined<Tx> | null = within === undefined ? null : ours<Tx>(within).joined;
    try {
      return await acknowledge(this.#ground, fence, limits, outer);
    } catch (error) {
      if (within === undefined && isPassing(error) && !isConnectionLoss(error)) {
        // Nothing of the receiver's has run in it: the attempt is not to be counted.
        const { address } = this.#connections;
        throw new DatabaseUnavailable(
          `Cannot open a receiver's transaction: the database at ${address} refuses it at the moment (${
            codeOf(error)
          })`,
          address,
          error,
        );
      }
      throw await this.#explained("open a receiver's transaction", error, within === undefined);
    }
  }

  async settleWithin(tx: StorageTransaction, settlement: FencedSettlement): Promise<Answer> {
    const { settleWithin, classify } = this.#statements;
    const [answer] = await settleTogether(
      this.#running("settle", tx),
      settleWithin,
      classify,
      [settlement],
      undefined,
    );
    return answer!;
  }

  async renew(renewals: readonly Renewal[], now?: Instant): Promise<Set<string>> {
    if (renewals.length === 0) return new Set();
    const parameters = [renewalsOf(latestClaims(renewals)), stampOrNull(now)];
    const rows = await this.#hot("renew leases", this.#statements.renew, parameters);
    return new Set(rows.map(([id]) => String(id)));
  }

  async releaseUnknown(worker: string, held: readonly string[]): Promise<number> {
    const rows = await this.#hot("release claims", this.#statements.releaseUnknown, [worker, JSON.stringify(held)]);
    return rows.length;
  }

  async nextDue(receivers: readonly string[], now?: Instant): Promise<number | null> {
    if (receivers.length === 0) return null;
    const parameters = [JSON.stringify(receivers), stampOrNull(now)];
    const [row] = await this.#hot("look for the next due delivery", this.#statements.nextDue, parameters);
    return row?.[0] == null ? null : Math.max(0, Number(row[0]));
  }

  async strangers(known: readonly string[], graceMs: number, now?: Instant): Promise<string[]> {
    const parameters = [JSON.stringify(known), graceMs, stampOrNull(now)];
    const rows = await this.#hot("look for unknown receivers", this.#statements.strangers, parameters);
    return rows.map(([key]) => String(key));
  }

  async announce({ app, release, receivers, now }: Announcement): Promise<void> {
    if (receivers.length === 0) return;
    const parameters = [JSON.stringify(receivers), app, release, stampOrNull(now)];
    await this.#cold("announce the receivers", this.#statements.announce, parameters);
  }

  async reopen(events: readonly Reopening[], now?: Instant): Promise<Reopened> {
    const wanted = wantedOf(events);
    if (wanted.length === 0) return { reopened: 0, added: 0 };
    try {
      return await this.#connections.transaction((begun) => reopen(begun, this.#statements, wanted, now));
    } catch (error) {
      throw await this.#explained("reopen deliveries", error, true);
    }
  }

  async health(now?: Instant): Promise<HealthRecord> {
    return healthOf(await this.#cold("read the health", this.#statements.health, [stampOrNull(now)]));
  }

  async findEvents({ name, ids }: EventFilter, within?: StorageTransaction): Promise<EventRecord[]> {
    const parameters = [name ?? null, ids === undefined ? null : JSON.stringify(ids)];
    const rows = await this.#running("find events", within)(this.#statements.findEvents, parameters);
    return rows.map((row) => eventOf(row));
  }

  async findDeliveries(filter: DeliveryFilter, now?: Instant, within?: StorageTransaction): Promise<DeliveryRecord[]> {
    const { eventId = null, receiverKey = null, deliveryId = null } = filter;
    if (deliveryId !== null && !isDeliveryId(deliveryId)) return [];
    const parameters = [eventId, receiverKey, deliveryId, stampOrNull(now)];
    const rows = await this.#running("find deliveries", within)(this.#statements.findDeliveries, parameters);
    return rows.map(deliveryOf);
  }

  async wake(): Promise<void> {
    // Lost at worst: the poll finds the work.
    await this.#connections.hot("wake the relay", this.#statements.wake, [this.#channel, ""]).catch(() => {});
  }

  async listen(onWake: () => void, signal: AbortSignal): Promise<void> {
    await listen(this.#connections, this.#statements, this.#channel, onWake, signal);
  }

  migrationScript(): string {
    return this.#migrations.script();
  }

  get migrations(): readonly Migration[] {
    return this.#migrations.steps;
  }

  async migrate(): Promise<Migration[]> {
    try {
      return await this.#migrations.apply(this.#connections.work);
    } catch (error) {
      throw this.#connections.explained("migrate", error);
    }
  }

  async pendingMigrations(): Promise<Migration[]> {
    return await this.#migrations.pending(sessionOf(this.#connections, "read the migrations"));
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  async #claimed(bound: Bound | null, worker: string, within: StorageTransaction | undefined) {
    if (bound === null) return [];
    const rows = await this.#running("claim deliveries", within)(bound.statement, bound.parameters);
    return claimedFrom(rows, worker);
  }

  /** Inside a transaction that is open, or on the connections that are kept for it. */
  #running(what: string, within: StorageTransaction | undefined): Run {
    if (within === undefined) return (statement, parameters) => this.#hot(what, statement, parameters);
    const on = ours(within).joined;
    return (statement, parameters) => on.run(statement, parameters, false);
  }

  async #hot(what: string, statement: Statement, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    try {
      return await this.#connections.hot(what, statement, parameters);
    } catch (error) {
      throw await this.#explained(what, error, true);
    }
  }

  async #cold(what: string, statement: Statement, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    try {
      return await this.#connections.cold(what, statement, parameters);
    } catch (error) {
      throw await this.#explained(what, error, true);
    }
  }

  /** What an error means: a server that is away, or a schema that was not migrated. */
  async #explained(what: string, error: unknown, own: boolean): Promise<unknown> {
    if (isMissingSchema(error)) {
      const missing = await this.pendingMigrations().catch(() => []);
      if (missing.length > 0) {
        return new MigrationsMissing(this.name, missing);
      }
    }
    return own ? this.#connections.explained(what, error) : error;
  }
}
