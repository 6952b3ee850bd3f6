import assert from "node:assert/strict";
import {
  createOutbox,
  type EventInstance,
  fireAll,
  type Outbox,
  type OutboxOptions,
  type Receiver,
  type RelayOptions,
  runRelay,
} from "../../../mod.ts";
import type { DeliveryRecord, EventRecord } from "../../../src/storage/records.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import type { OpenDatabase, Row } from "../storage/harness.ts";
import type { Logs } from "./logs.ts";

/** The cases of one topic by title; each states one fact. */
export type Cases = Readonly<Record<string, (given: Given) => Promise<void>>>;

/** A relay that runs in this process. */
export interface RunningRelay extends AsyncDisposable {
  /** Stops it, and gives its counts. */
  stop(): ReturnType<typeof runRelay>;
}

/** A migrated, empty database, and the usual ways to use it. */
export class Given {
  readonly database: OpenDatabase;
  readonly logs: Logs;
  readonly #open: () => Promise<OpenDatabase>;

  constructor(database: OpenDatabase, logs: Logs, open: () => Promise<OpenDatabase>) {
    this.database = database;
    this.logs = logs;
    this.#open = open;
  }

  get storage(): Storage {
    return this.database.storage;
  }

  /** Whether an open transaction keeps every other writer out. */
  get oneWriter(): boolean {
    return this.storage.capabilities.singleWriter;
  }

  /** Another database, which is not migrated. */
  fresh(): Promise<OpenDatabase> {
    return this.#open();
  }

  /** An outbox on it; a failed row waits for minutes, so that it does not come due again within the call that failed it. */
  outbox(receivers: readonly Receiver[], options: Partial<OutboxOptions> = {}): Outbox {
    const backoff = { base: { minutes: 10 }, cap: { minutes: 10 } };
    return createOutbox({
      storage: this.storage,
      receivers,
      ...options,
      settings: { backoff, ...options.settings },
    });
  }

  /** The storage, with some of its verbs replaced. */
  changed(verbs: Partial<Storage>, storage: Storage = this.storage): Storage {
    return new Proxy(storage, {
      get(target, verb) {
        const own = (verbs as Record<PropertyKey, unknown>)[verb];
        if (own !== undefined) return own;
        const value: unknown = Reflect.get(target, verb, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  /** Fires in one transaction. */
  async fire(outbox: Outbox, ...events: EventInstance[]): Promise<string[]> {
    const ids = await outbox.transaction((tx) => fireAll(tx, events));
    return ids.map((id) => id!);
  }

  /** Starts a relay; resolves once it listens. */
  async relay(outbox: Outbox, options: RelayOptions = {}): Promise<RunningRelay> {
    const stop = new AbortController();
    const ready = Promise.withResolvers<void>();
    const running = runRelay(outbox, { signal: stop.signal, ...options, onReady: ready.resolve });
    running.catch(ready.reject);
    await ready.promise;
    return {
      stop: () => {
        stop.abort();
        return running;
      },
      [Symbol.asyncDispose]: async () => {
        stop.abort();
        await running;
      },
    };
  }

  events(): Promise<EventRecord[]> {
    return this.storage.findEvents({});
  }

  rows(): Promise<DeliveryRecord[]> {
    return this.storage.findDeliveries({});
  }

  /** The only delivery there is, or the only one of this receiver. */
  async row(receiverKey?: string): Promise<DeliveryRecord> {
    const rows = await this.storage.findDeliveries(receiverKey === undefined ? {} : { receiverKey });
    assert.equal(rows.length, 1, `Expected one row, not ${rows.length}`);
    return rows[0]!;
  }

  /** `"receiver status attempts"` of every delivery, in the order of their ids. */
  async outcomes(): Promise<string[]> {
    return (await this.rows()).map(({ receiverKey, status, attempts }) => `${receiverKey} ${status} ${attempts}`);
  }

  /** Nothing was recorded at all. */
  async nothing(): Promise<void> {
    assert.deepEqual([await this.events(), await this.rows(), await this.notes()], [[], [], []]);
  }

  /** Another worker takes the row, as it would once the lease had lapsed. */
  async steal(receiverKey: string): Promise<void> {
    const stolen = await this.storage.claim({
      worker: "thief",
      receivers: [{ key: receiverKey, leaseMs: 3_600_000 }],
      limit: 1,
      now: BigInt(later({ minutes: 10 }).getTime()) * 1000n,
    });
    assert.equal(stolen.length, 1, "Expected the row to be stolen");
  }

  /** Does a receiver's work: writes a note. */
  note(client: unknown, text: string): Promise<Row[]> {
    return this.database.execute(client, `insert into ${this.database.table("notes")} (note) values ('${text}')`);
  }

  /** A statement that fails. */
  fail(client: unknown): Promise<Row[]> {
    return this.database.execute(client, `insert into ${this.database.table("notes")} (nothing) values (1)`);
  }

  /** The notes that were committed. */
  async notes(): Promise<unknown[]> {
    const rows = await this.database.query(`select note from ${this.database.table("notes")} order by note`);
    return rows.map(({ note }) => note);
  }
}

/** A moment that long from now. */
export function later({ hours = 0, minutes = 0, ms = 0 }: { hours?: number; minutes?: number; ms?: number }): Date {
  return new Date(Date.now() + hours * 3_600_000 + minutes * 60_000 + ms);
}

/** What the work was rejected with; fails when it was not. */
export async function rejection(work: Promise<unknown> | (() => Promise<unknown>)): Promise<Error> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    return error as Error;
  }
  assert.fail("Expected a rejection");
}

/** The whole numbers from 1 to `count`. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}
