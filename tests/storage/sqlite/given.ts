import { type Client, createClient } from "@libsql/client";
import { libsqlStorage } from "../../../src/storage/sqlite/mod.ts";
import type { ClaimedDelivery } from "../../../src/storage/records.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { temporaryFile } from "../../support/databases.ts";
import { aDebt, anEvent, range } from "../../suite/storage/samples.ts";

/** A migrated database in a file, and clients on it. */
export class GivenFile implements AsyncDisposable {
  readonly file = temporaryFile();
  readonly #open: { close(): unknown }[] = [];

  static async migrated(): Promise<GivenFile> {
    const given = new GivenFile();
    await given.storage().migrate();
    return given;
  }

  client(options: { concurrency?: number; timeout?: number } = {}): Client {
    const client = createClient({ url: this.file.url, ...options });
    this.#open.push(client);
    return client;
  }

  storage(client = this.client()): Storage {
    const storage = libsqlStorage(client);
    this.#open.unshift(storage);
    return storage;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#open) await each.close();
    await this.file[Symbol.asyncDispose]();
  }
}

/** Writes that many events with a debt each. */
export async function fire(storage: Storage, count = 1, receiverKey = "stock.reserve"): Promise<void> {
  const events = range(count).map(() => anEvent());
  const debts = events.map((event) => aDebt(event, { receiverKey }));
  await storage.transaction((tx) => storage.append(tx, events, debts));
}

export function claim(storage: Storage, limit = 100, leaseMs = 60_000): Promise<ClaimedDelivery[]> {
  return storage.claim({ worker: "worker-a", limit, receivers: [{ key: "stock.reserve", leaseMs }] });
}

/** The longest time for which the event loop stood still while work ran, in milliseconds. */
export async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 5);
    last = now;
  };
  const timer = setInterval(tick, 5);
  try {
    await work();
    tick();
  } finally {
    clearInterval(timer);
  }
  return longest;
}
