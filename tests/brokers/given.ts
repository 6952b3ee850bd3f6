import assert from "node:assert/strict";
import { type Client, createClient } from "@libsql/client";
import {
  createOutbox,
  type DeliveryContext,
  event,
  fireAll,
  type Outbox,
  type Receiver,
  receiver,
  type ReceiverOptions,
  type TaskBackend,
} from "../../mod.ts";
import type { DeliveryRecord } from "../../src/storage/records.ts";
import { libsqlStorage } from "../../src/storage/sqlite/mod.ts";
import { temporaryFile } from "../support/databases.ts";
import { waitFor } from "../support/wait_for.ts";

export const OrderPlaced = event<{ orderId: number }>("orders.placed");

/** What a receiver does, and with which options. */
export interface Mail {
  readonly run?: (orderId: number, ctx: DeliveryContext) => unknown;
  readonly options?: ReceiverOptions;
}

/** The one receiver of these tests, which runs in a task. */
export function mail({ run = () => {}, options = {} }: Mail = {}): Receiver {
  return receiver(OrderPlaced, "mail", ({ orderId }, ctx) => run(orderId, ctx), { site: "task", ...options });
}

/** A database in a file, over which outboxes of this process and of others meet. */
export class Place implements AsyncDisposable {
  readonly #file = temporaryFile();
  readonly #open: (Client | Outbox)[] = [];

  get url(): string {
    return this.#file.url;
  }

  static async new(): Promise<Place> {
    const place = new Place();
    const client = place.#client();
    await libsqlStorage(client).migrate();
    await client.execute("create table ran (order_id integer, process text)");
    return place;
  }

  /** An outbox with a client of its own, as another process has it. */
  outbox(tasks: TaskBackend, how: Mail = {}): Outbox {
    const poll = { milliseconds: 50 };
    const outbox = createOutbox({
      storage: libsqlStorage(this.#client()),
      receivers: [mail(how)],
      tasks,
      settings: { poll },
    });
    this.#open.unshift(outbox);
    return outbox;
  }

  /** Fires so many orders. */
  async fire(outbox: Outbox, orders = 1): Promise<void> {
    const events = Array.from({ length: orders }, (_, i) => OrderPlaced({ orderId: i + 1 }));
    await outbox.transaction((tx) => fireAll(tx, events));
  }

  rows(outbox: Outbox): Promise<DeliveryRecord[]> {
    return outbox.storage.findDeliveries({});
  }

  /** Waits until every delivery has this status, and gives the attempts of each. */
  async all(outbox: Outbox, status: string): Promise<number[]> {
    await waitFor(async () => (await this.rows(outbox)).every((row) => row.status === status), {
      what: `every delivery to be ${status}`,
      timeoutMs: 20_000,
    });
    return (await this.rows(outbox)).map((row) => row.attempts);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#open) await each.close();
    await this.#file[Symbol.asyncDispose]();
  }

  #client(): Client {
    const client = createClient({ url: this.#file.url });
    this.#open.push(client);
    return client;
  }
}

/** Fails unless each order ran exactly once. */
export function assertOnce(ran: readonly number[], orders: number): void {
  assert.deepEqual([...ran].sort((a, b) => a - b), Array.from({ length: orders }, (_, i) => i + 1));
}
