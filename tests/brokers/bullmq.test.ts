import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { deliverPending, deliverTask, type Outbox, type TaskMessage, TaskRefused } from "../../mod.ts";
import { bullmqTasks } from "../../src/tasks/bullmq.ts";
import { brokerUrl } from "../support/brokers.ts";
import { freePort } from "../support/free_port.ts";
import { startProcess } from "../support/processes.ts";
import { waitFor } from "../support/wait_for.ts";
import { recordLogs } from "../suite/outbox/logs.ts";
import { assertOnce, Place } from "./given.ts";

const url = brokerUrl("REDIS_URL");
const notAborted = { signal: new AbortController().signal };
const message: TaskMessage = { v: 1, deliveryId: "7", claimedBy: "box-1#ab", claimedAt: "1700000000000000" };

/** A client of the test's own: BullMQ closes none that it was given. */
function redis(address = url, enableOfflineQueue = true): Redis {
  const client = new Redis(address, { maxRetriesPerRequest: null, enableOfflineQueue });
  client.on("error", () => {});
  return client;
}

/** A queue of the test's own, with its workers; all of it goes at the end. */
class Bench implements AsyncDisposable {
  readonly name = `owed-test-${randomUUID()}`;
  readonly #clients = [redis()];
  readonly queue = new Queue(this.name, { connection: this.#clients[0]! });
  readonly tasks = bullmqTasks(this.queue);
  readonly failures: Error[] = [];
  readonly #workers: Worker[] = [];

  async work(outbox: Outbox, concurrency = 5): Promise<Worker> {
    const connection = redis();
    this.#clients.push(connection);
    const worker = new Worker(this.name, (job) => deliverTask(outbox, job.data), { connection, concurrency });
    worker.on("failed", (_, error) => this.failures.push(error));
    worker.on("error", () => {});
    this.#workers.push(worker);
    await worker.waitUntilReady();
    return worker;
  }

  /** How many jobs are there, in whatever state. */
  async jobs(): Promise<number> {
    const counts = await this.queue.getJobCounts();
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers) await worker.close(true);
    await this.queue.obliterate({ force: true });
    await this.queue.close();
    for (const client of this.#clients) client.disconnect();
  }
}

describe("BullMQ on a real Redis", () => {
  it("takes a delivery over, and a worker runs it once", async () => {
    await using place = await Place.new();
    await using bench = new Bench();
    const ran: number[] = [];
    const run = (orderId: number) => ran.push(orderId);
    const outbox = place.outbox(bench.tasks, { run });
    await bench.work(place.outbox(bench.tasks, { run }));
    await place.fire(outbox);
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual(await place.all(outbox, "succeeded"), [1]);
    assert.deepEqual(ran, [1]);
    await waitFor(async () => await bench.jobs() === 0, { what: "the job to go" });
  });

  it("the job is the message as it was enqueued, and its id is the claim", async () => {
    await using bench = new Bench();
    await bench.tasks.enqueue(message, notAborted);
    const [job, ...more] = await bench.queue.getJobs(["waiting"]);
    assert.deepEqual(more, []);
    assert.deepEqual([job!.name, job!.id, job!.data], ["owed.delivery", "7-1700000000000000", message]);
    assert.equal(job!.opts.attempts, 1);
  });

  it("pitfall 146: a message that is enqueued again while it waits is one job", async () => {
    await using bench = new Bench();
    for (let i = 0; i < 3; i++) await bench.tasks.enqueue(message, notAborted);
    assert.equal(await bench.jobs(), 1);
    await bench.tasks.enqueue({ ...message, claimedAt: "1700000000000001" }, notAborted);
    assert.equal(await bench.jobs(), 2);
  });

  it("pitfall 146: a message that comes again after it was worked runs nothing", async () => {
    await using place = await Place.new();
    await using bench = new Bench();
    const ran: number[] = [];
    const sent: TaskMessage[] = [];
    const outbox = place.outbox({
      enqueue: async (message, options) => {
        sent.push(message);
        await bench.tasks.enqueue(message, options);
      },
    }, { run: (orderId) => ran.push(orderId) });
    await bench.work(outbox);
    await place.fire(outbox);
    await deliverPending(outbox);
    await place.all(outbox, "succeeded");
    await waitFor(async () => await bench.jobs() === 0, { what: "the job to go" });
    await bench.tasks.enqueue(sent[0]!, notAborted);
    await waitFor(async () => await bench.jobs() === 0, { what: "the second job to go" });
    assert.deepEqual([ran, bench.failures], [[1], []]);
  });

  it("two workers share thirty deliveries of a relay, and each runs once", async () => {
    await using place = await Place.new();
    await using bench = new Bench();
    const ran: number[] = [];
    const run = (orderId: number) => ran.push(orderId);
    const outbox = place.outbox(bench.tasks, { run });
    for (let i = 0; i < 2; i++) await bench.work(place.outbox(bench.tasks, { run }));
    await place.fire(outbox, 30);
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual(await place.all(outbox, "succeeded"), Array(30).fill(1));
    assertOnce(ran, 30);
  });

  it("a receiver that fails is the outbox's to retry: the job is not made again", async () => {
    await using place = await Place.new();
    await using bench = new Bench();
    let ran = 0;
    const outbox = place.outbox(bench.tasks, {
      run: () => {
        ran++;
        throw new Error("no luck");
      },
      options: { backoff: { base: { hours: 1 }, cap: { hours: 1 } } },
    });
    await bench.work(outbox);
    await place.fire(outbox);
    await deliverPending(outbox);
    assert.deepEqual(await place.all(outbox, "failed"), [1]);
    await waitFor(async () => await bench.jobs() === 0, { what: "the job to go" });
    assert.deepEqual([ran, bench.failures], [1, []]);
  });

  it("a foreign job fails loudly, and runs nothing", async () => {
    await using place = await Place.new();
    await using bench = new Bench();
    await bench.work(place.outbox(bench.tasks, { run: () => assert.fail("it ran") }));
    for (const data of [{ v: 2 }, { ...message, claimedBy: "" }, "text", null]) await bench.queue.add("foreign", data);
    await waitFor(() => bench.failures.length === 4, { what: "the failures" });
    assert.ok(bench.failures.every((error) => error instanceof TaskRefused), String(bench.failures));
  });

  it("a Redis that is away has the delivery given back, and is no failed attempt", async () => {
    await using place = await Place.new();
    const logs = await recordLogs();
    const nowhere = `redis://127.0.0.1:${await freePort()}`;
    for (const enableOfflineQueue of [true, false]) {
      const connection = redis(nowhere, enableOfflineQueue);
      const queue = new Queue(`owed-test-${randomUUID()}`, { connection });
      queue.on("error", () => {});
      const options = { lease: { milliseconds: 300 }, backoff: { base: { hours: 1 }, cap: { hours: 1 } } };
      const outbox = place.outbox(bullmqTasks(queue), { options });
      await place.fire(outbox);
      assert.deepEqual(await deliverPending(outbox), {});
      assert.deepEqual(await place.all(outbox, "pending"), Array((await place.rows(outbox)).length).fill(0));
      connection.disconnect();
    }
    assert.equal(logs.lines("warning", "delivery").filter((line) => line.startsWith("could not hand")).length, 2);
  });

  it("a job's name can be another, and not a blank one", async () => {
    await using bench = new Bench();
    await bullmqTasks(bench.queue, { jobName: "pay" }).enqueue(message, notAborted);
    assert.equal((await bench.queue.getJobs(["waiting"]))[0]!.name, "pay");
    assert.throws(() => bullmqTasks(bench.queue, { jobName: " " }), /jobName/);
  });

  it("pitfall 149: a fresh worker process with nothing but the documented imports runs it", async () => {
    await using place = await Place.new();
    await using bench = new Bench();
    await using worker = startProcess(new URL("./worker.ts", import.meta.url), {
      args: ["bullmq", url, bench.name, place.url],
    });
    const outbox = place.outbox(bench.tasks);
    await worker.line("ready");
    await place.fire(outbox, 3);
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual(await place.all(outbox, "succeeded"), [1, 1, 1]);
    assertOnce(worker.stdout.filter((line) => line.startsWith("runs")).map((line) => Number(line.slice(5))), 3);
  });
});
