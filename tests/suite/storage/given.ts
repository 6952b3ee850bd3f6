import assert from "node:assert/strict";
import type { Instant } from "../../../src/instant.ts";
import type { ClaimedDelivery, DeliveryRecord, NewDelivery, NewEvent } from "../../../src/storage/records.ts";
import type { Answer, Fence, FencedSettlement, Settlement } from "../../../src/storage/settlement.ts";
import type { Acknowledgement, ClaimRequest, Storage, StorageTransaction } from "../../../src/storage/storage.ts";
import type { OpenDatabase } from "./harness.ts";
import { aDebt, after, anEvent } from "./samples.ts";

/** The cases of one verb by title; each states one fact. */
export type Cases = Readonly<Record<string, (given: Given) => Promise<void>>>;

/** What `Given.fire` takes: fields of the event and of its debts. */
export interface Fired extends Partial<Omit<NewEvent, "id">>, Partial<Omit<NewDelivery, "eventId">> {
  readonly receivers?: readonly string[];
  readonly at?: Instant;
}

/** What `Given.claim` takes, all of it optional. */
export interface Claim extends Partial<Omit<ClaimRequest, "receivers">> {
  readonly receivers?: readonly string[];
  readonly leaseMs?: number;
  readonly by?: Storage;
  readonly within?: StorageTransaction;
}

/** A migrated, empty database and the usual ways to use it. */
export class Given {
  /** A moment near the real one, with microseconds, that does not move. */
  readonly now: Instant = BigInt(Date.now()) * 1000n + 123n;
  readonly database: OpenDatabase;
  readonly #open: () => Promise<OpenDatabase>;

  constructor(database: OpenDatabase, open: () => Promise<OpenDatabase>) {
    this.database = database;
    this.#open = open;
  }

  get storage(): Storage {
    return this.database.storage;
  }

  get second(): Storage {
    const { second } = this.database;
    assert.ok(second, "This harness has no second connection: list the case under skip");
    return second;
  }

  /** Another database, which is not migrated. */
  fresh(): Promise<OpenDatabase> {
    return this.#open();
  }

  later(ms: number): Instant {
    return after(this.now, ms);
  }

  /** Writes one event and a debt for each receiver, in a transaction of its own. */
  async fire(fields: Fired = {}): Promise<NewEvent> {
    const { receivers = ["stock.reserve"], at = this.now, ...rest } = fields;
    const { receiverKey: _, target = "", maxAttempts = 5, orderKey = null, dueAt = null, dueInMs = null, ...ofEvent } =
      rest;
    const event = anEvent(ofEvent);
    const ofDebt = { target, maxAttempts, orderKey, dueAt, dueInMs };
    const debts = receivers.map((receiverKey) => aDebt(event, { receiverKey, ...ofDebt }));
    await this.storage.transaction((tx) => this.storage.append(tx, [event], debts, at));
    return event;
  }

  /** Writes that many events, each with one debt for the receiver. */
  async fireMany(count: number, receiverKey = "stock.reserve"): Promise<NewEvent[]> {
    const events = Array.from({ length: count }, () => anEvent());
    const debts = events.map((event) => aDebt(event, { receiverKey }));
    await this.storage.transaction((tx) => this.storage.append(tx, events, debts, this.now));
    return events;
  }

  claim(claim: Claim = {}): Promise<ClaimedDelivery[]> {
    const { receivers = ["stock.reserve"], leaseMs = 60_000, by = this.storage, within, ...rest } = claim;
    const request = { worker: "worker-a", limit: 100, now: this.now, ...rest };
    return by.claim({ ...request, receivers: receivers.map((key) => ({ key, leaseMs })) }, within);
  }

  async claimOne(claim: Claim = {}): Promise<ClaimedDelivery> {
    const claimed = await this.claim(claim);
    assert.equal(claimed.length, 1, `Expected to claim one row, not ${claimed.length}`);
    return claimed[0]!;
  }

  /** Fires one event and claims its debt. */
  async held(claim: Claim = {}): Promise<ClaimedDelivery> {
    await this.fire();
    return await this.claimOne(claim);
  }

  async settle({ fence }: { fence: Fence }, settlement: Settlement, now: Instant = this.now): Promise<Answer> {
    const answers = await this.storage.settle([{ fence, settlement }], now);
    assert.equal(answers.length, 1);
    return answers[0]!;
  }

  /** Settles, and insists that it is recorded. */
  async settled(claimed: { fence: Fence }, settlement: Settlement, now: Instant = this.now): Promise<void> {
    assert.equal(await this.settle(claimed, settlement, now), "applied");
  }

  async acknowledge({ fence }: { fence: Fence }, within?: StorageTransaction): Promise<Acknowledgement> {
    const opened = await this.storage.acknowledge(fence, { timeoutMs: 30_000 }, within);
    assert.ok(opened, "Expected the claim to be held");
    return opened;
  }

  rows(now: Instant = this.now): Promise<DeliveryRecord[]> {
    return this.storage.findDeliveries({}, now);
  }

  /** The only delivery there is, or the one with this id. */
  async row(deliveryId?: string, now: Instant = this.now): Promise<DeliveryRecord> {
    const rows = await this.storage.findDeliveries(deliveryId === undefined ? {} : { deliveryId }, now);
    assert.equal(rows.length, 1, `Expected one row, not ${rows.length}`);
    return rows[0]!;
  }

  /** Does a receiver's work: writes a note. */
  async note(client: unknown, text: string): Promise<void> {
    await this.database.execute(client, `insert into ${this.database.table("notes")} (note) values ('${text}')`);
  }

  /** The notes that were committed. */
  async notes(): Promise<unknown[]> {
    const rows = await this.database.query(`select note from ${this.database.table("notes")} order by note`);
    return rows.map(({ note }) => note);
  }

  async count(table: string): Promise<number> {
    const rows = await this.database.query(`select count(*) as rows from ${this.database.table(table)}`);
    return Number(rows[0]!.rows);
  }
}

/** The ids of claimed rows, as they came. */
export function idsOf(claimed: readonly ClaimedDelivery[]): string[] {
  return claimed.map(({ fence }) => fence.id);
}

/** The same settlement for each. */
export function all(claimed: readonly ClaimedDelivery[], settlement: Settlement): FencedSettlement[] {
  return claimed.map(({ fence }) => ({ fence, settlement }));
}
