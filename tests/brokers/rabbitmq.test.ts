import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { type ChannelModel, connect } from "amqplib";
import { deliverPending, deliverTask, runRelay, type TaskMessage } from "../../mod.ts";
import { rabbitmqTasks, workRabbitmqTasks } from "../../src/tasks/rabbitmq.ts";
import { brokerUrl } from "../support/brokers.ts";
import { startProcess } from "../support/processes.ts";
import { waitFor } from "../support/wait_for.ts";
import { recordLogs } from "../suite/outbox/logs.ts";
import { assertOnce, Place } from "./given.ts";

const url = brokerUrl("AMQP_URL");
const notAborted = { signal: new AbortController().signal };
const message: TaskMessage = { v: 1, deliveryId: "7", claimedBy: "box-1#ab", claimedAt: "1700000000000000" };

/** A queue of the test's own over a connection of its own; both go at the end. */
class Bench implements AsyncDisposable {
  readonly queue = `owed-test-${randomUUID()}`;
  readonly connection: ChannelModel;

  private constructor(connection: ChannelModel) {
    this.connection = connection;
    connection.on("error", () => {});
  }

  static async new(): Promise<Bench> {
    return new Bench(await connect(url));
  }

  get tasks() {
    return rabbitmqTasks(() => this.connection.createConfirmChannel(), this.queue);
  }

  async work(work: (message: TaskMessage) => Promise<unknown>, options?: { concurrency?: number }) {
    const channel = await this.connection.createChannel();
    return { channel, stop: await workRabbitmqTasks(channel, this.queue, work, options) };
  }

  /** Puts anything on the queue. */
  async put(text: string): Promise<void> {
    const channel = await this.connection.createConfirmChannel();
    await channel.assertQueue(this.queue, { durable: true });
    channel.sendToQueue(this.queue, Buffer.from(text), { persistent: true });
    await channel.waitForConfirms();
    await channel.close();
  }

  /** Messages that wait; those under way are not among them. */
  async waiting(): Promise<number> {
    const channel = await this.connection.createChannel();
    try {
      return (await channel.assertQueue(this.queue, { durable: true })).messageCount;
    } finally {
      await channel.close();
    }
  }

  async delete(): Promise<void> {
    const channel = await this.connection.createChannel();
    await channel.deleteQueue(this.queue);
    await channel.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const last = await connect(url);
    await (await last.createChannel()).deleteQueue(this.queue);
    await last.close();
    await this.connection.close().catch(() => {});
  }
}

describe("RabbitMQ, a real one", () => {
  it("takes a delivery over, and a worker runs it once", async () => {
    await using place = await Place.new();
    await using bench = await Bench.new();
    const ran: number[] = [];
    const run = (orderId: number) => ran.push(orderId);
    const outbox = place.outbox(bench.tasks, { run });
    const worker = place.outbox(bench.tasks, { run });
    const { stop } = await bench.work((message) => deliverTask(worker, message));
    await place.fire(outbox);
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual(await place.all(outbox, "succeeded"), [1]);
    await stop();
    assert.deepEqual([ran, await bench.waiting()], [[1], 0]);
  });

  it("the message is persistent, on a durable queue, and named after the claim", async () => {
    await using bench = await Bench.new();
    await bench.tasks.enqueue(message, notAborted);
    const channel = await bench.connection.createChannel();
    const got = await channel.get(bench.queue, { noAck: true });
    assert.ok(got);
    assert.deepEqual(JSON.parse(got.content.toString()), message);
    const { deliveryMode, contentType, messageId } = got.properties;
    assert.deepEqual([deliveryMode, contentType, messageId], [2, "application/json", "7-1700000000000000"]);
    await channel.checkQueue(bench.queue);
  });

  it("two workers share thirty deliveries, and each runs once", async () => {
    await using place = await Place.new();
    await using bench = await Bench.new();
    const ran: number[] = [];
    const run = (orderId: number) => ran.push(orderId);
    const outbox = place.outbox(bench.tasks, { run });
    const stops = [];
    for (let i = 0; i < 2; i++) {
      const worker = place.outbox(bench.tasks, { run });
      stops.push((await bench.work((message) => deliverTask(worker, message))).stop);
    }
    await place.fire(outbox, 30);
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual(await place.all(outbox, "succeeded"), Array(30).fill(1));
    for (const stop of stops) await stop();
    assertOnce(ran, 30);
  });

  it("pitfall 146: two copies of a message, at a time, run it once", async () => {
    await using place = await Place.new();
    await using bench = await Bench.new();
    const ran: number[] = [];
    const results: unknown[] = [];
    const tasks = bench.tasks;
    const outbox = place.outbox({
      enqueue: async (message, options) => {
        await tasks.enqueue(message, options);
        await tasks.enqueue(message, options);
      },
    }, { run: (orderId) => ran.push(orderId) });
    await place.fire(outbox, 5);
    await deliverPending(outbox);
    assert.equal(await bench.waiting(), 10);
    const { stop } = await bench.work(async (message) => results.push(await deliverTask(outbox, message)));
    await waitFor(() => results.length === 10, { what: "all copies" });
    await stop();
    assertOnce(ran, 5);
    assert.equal(results.filter((result) => result === null).length, 5);
  });

  it("pitfall 150: foreign messages are dropped with a line in the log, and hold nothing up", async () => {
    await using place = await Place.new();
    await using bench = await Bench.new();
    const logs = await recordLogs();
    const foreign = ["", "secret", "{", "null", "[]", JSON.stringify({ ...message, v: 2 }), "\0"];
    for (const text of foreign) await bench.put(text);
    const outbox = place.outbox(bench.tasks);
    await place.fire(outbox);
    await deliverPending(outbox);
    const { stop } = await bench.work((message) => deliverTask(outbox, message), { concurrency: 1 });
    assert.deepEqual(await place.all(outbox, "succeeded"), [1]);
    await stop();
    assert.equal(await bench.waiting(), 0);
    const lines = logs.lines("warning", "tasks");
    assert.deepEqual(
      lines,
      Array(foreign.length).fill("a task message could not be worked (TaskRefused); it is dropped"),
    );
    assert.ok(!logs.everything.includes("secret"));
  });

  it("a message whose database is away goes back to the broker, after a moment, and is worked later", async () => {
    await using place = await Place.new();
    await using bench = await Bench.new();
    const logs = await recordLogs();
    const outbox = place.outbox(bench.tasks);
    await place.fire(outbox);
    await deliverPending(outbox);
    const tried: number[] = [];
    const { stop } = await bench.work((message) => {
      tried.push(performance.now());
      // As libSQL over HTTP has it: an error of the network is a TypeError.
      if (tried.length <= 2) throw new TypeError("fetch failed");
      return deliverTask(outbox, message);
    });
    assert.deepEqual(await place.all(outbox, "succeeded"), [1]);
    await stop();
    assert.equal(tried.length, 3);
    assert.ok(tried[1]! - tried[0]! > 900, "it comes back after a moment");
    assert.match(logs.lines("warning", "tasks")[0]!, /\(TypeError\); it is given back to the broker/);
  });

  it("works no more at a time than it is told to", async () => {
    await using bench = await Bench.new();
    let running = 0;
    let most = 0;
    let done = 0;
    for (let i = 0; i < 8; i++) await bench.put(JSON.stringify(message));
    const { stop } = await bench.work(async () => {
      most = Math.max(most, ++running);
      await bench.waiting();
      running--;
      done++;
    }, { concurrency: 3 });
    await waitFor(() => done === 8, { what: "all" });
    await stop();
    assert.ok(most <= 3, `${most} at a time`);
    for (const concurrency of [0, 1.5, 1001, "2" as never]) {
      await assert.rejects(bench.work(() => Promise.resolve(), { concurrency }), /concurrency/);
    }
  });

  it("stops after what is under way, and takes nothing new", async () => {
    await using bench = await Bench.new();
    const gate = Promise.withResolvers<void>();
    let started = 0;
    let stopped = false;
    for (let i = 0; i < 3; i++) await bench.put(JSON.stringify(message));
    const { stop, channel } = await bench.work(() => {
      started++;
      return gate.promise;
    }, { concurrency: 1 });
    await waitFor(() => started === 1, { what: "the first" });
    const stopping = stop().then(() => stopped = true);
    await bench.waiting();
    assert.equal(stopped, false);
    gate.resolve();
    await stopping;
    await channel.close();
    assert.deepEqual([started, await bench.waiting()], [1, 2]);
  });

  it("a channel that ends under it is no unhandled error, and the broker has the message again", async () => {
    await using bench = await Bench.new();
    const gate = Promise.withResolvers<void>();
    let started = 0;
    await bench.put(JSON.stringify(message));
    const { channel } = await bench.work(() => {
      started++;
      return gate.promise;
    });
    await waitFor(() => started === 1, { what: "the message" });
    await channel.close();
    gate.resolve();
    await waitFor(async () => await bench.waiting() === 1, { what: "the message to be back" });
  });

  it("a queue that was deleted is said so, and is there again for the next message", async () => {
    await using bench = await Bench.new();
    const tasks = bench.tasks;
    await tasks.enqueue(message, notAborted);
    await bench.delete();
    await assert.rejects(tasks.enqueue(message, notAborted), /the queue ".*" is gone/);
    await tasks.enqueue(message, notAborted);
    assert.equal(await bench.waiting(), 1);
  });

  it("a worker whose queue was deleted says so", async () => {
    await using bench = await Bench.new();
    const logs = await recordLogs();
    await bench.work(() => Promise.resolve());
    await bench.delete();
    await waitFor(() => logs.lines("error", "tasks").length === 1, { what: "the line" });
    assert.match(logs.lines("error", "tasks")[0]!, /was deleted: nothing comes from it/);
  });

  it("opens another channel after one has ended; one that was given stays ended", async () => {
    await using bench = await Bench.new();
    const channels: Awaited<ReturnType<ChannelModel["createConfirmChannel"]>>[] = [];
    const tasks = rabbitmqTasks(async () => {
      channels.push(await bench.connection.createConfirmChannel());
      return channels.at(-1)!;
    }, bench.queue);
    await Promise.all([1, 2, 3].map((n) => tasks.enqueue({ ...message, deliveryId: `${n}` }, notAborted)));
    assert.equal(channels.length, 1);
    await channels[0]!.close();
    await assert.rejects(tasks.enqueue(message, notAborted));
    await tasks.enqueue(message, notAborted);
    assert.deepEqual([channels.length, await bench.waiting()], [2, 4]);

    const given = rabbitmqTasks(channels[1]!, bench.queue);
    await given.enqueue(message, notAborted);
    await channels[1]!.close();
    for (let i = 0; i < 2; i++) await assert.rejects(given.enqueue(message, notAborted));
  });

  it("a broker that cannot be reached, or has the queue otherwise, has the delivery given back", async () => {
    await using place = await Place.new();
    await using bench = await Bench.new();
    const logs = await recordLogs();
    const channel = await bench.connection.createChannel();
    await channel.assertQueue(bench.queue, { durable: false });
    const backoff = { base: { hours: 1 }, cap: { hours: 1 } };
    const away = rabbitmqTasks(async () => (await connect("amqp://127.0.0.1:1")).createConfirmChannel(), bench.queue);
    for (const tasks of [away, bench.tasks]) {
      const outbox = place.outbox(tasks, { options: { backoff } });
      await place.fire(outbox);
      assert.deepEqual(await deliverPending(outbox), {});
      assert.deepEqual(await place.all(outbox, "pending"), (await place.rows(outbox)).map(() => 0));
    }
    const lines = logs.lines("warning", "delivery").filter((line) => line.startsWith("could not hand"));
    assert.equal(lines.length, 2, lines.join("\n"));
  });

  it("a signal that has aborted sends nothing", async () => {
    await using bench = await Bench.new();
    const reason = new Error("stop");
    await assert.rejects(bench.tasks.enqueue(message, { signal: AbortSignal.abort(reason) }), reason);
    assert.equal(await bench.waiting(), 0);
    assert.throws(() => rabbitmqTasks(() => bench.connection.createConfirmChannel(), " "), /its queue/);
  });

  it("pitfall 149: a fresh worker process that is killed in the middle loses nothing, and nobody runs it twice at a time", async () => {
    await using place = await Place.new();
    await using bench = await Bench.new();
    const script = new URL("./worker.ts", import.meta.url);
    const args = ["rabbitmq", url, bench.queue, place.url];
    const outbox = place.outbox(bench.tasks, { options: { lease: { seconds: 2 } } });
    const stop = new AbortController();
    const relay = runRelay(outbox, { signal: stop.signal });
    try {
      {
        await using dies = startProcess(script, { args: [...args, "hang"] });
        await dies.line("ready");
        await place.fire(outbox);
        await dies.line("runs 1");
        dies.kill("SIGKILL");
        await dies.exited;
      }
      // The broker brings the message again, for a claim that nobody has any more; the lease brings the delivery back.
      await using worker = startProcess(script, { args });
      await worker.line("ready");
      assert.deepEqual(await place.all(outbox, "succeeded"), [1]);
      assert.equal((await place.rows(outbox))[0]!.lapses, 1);
      assert.deepEqual(worker.stdout.filter((line) => line.startsWith("runs")), ["runs 1"]);
    } finally {
      stop.abort();
      await relay;
    }
  });
});
