// A worker as the documentation shows it, in a process of its own: worker.ts <broker> <its URL> <queue> <database>.
// With "hang" as the fifth argument its receiver never returns.
import process from "node:process";
import { connect } from "amqplib";
import { Worker } from "bullmq";
import { Redis } from "ioredis";
import { createClient } from "@libsql/client";
import { createOutbox, deliverTask } from "../../mod.ts";
import { libsqlStorage } from "../../src/storage/sqlite/mod.ts";
import { workRabbitmqTasks } from "../../src/tasks/rabbitmq.ts";
import { mail } from "./given.ts";

const [broker, url, queue, database, how] = process.argv.slice(2) as [string, string, string, string, string?];
const outbox = createOutbox({
  storage: libsqlStorage(createClient({ url: database })),
  receivers: [
    mail({
      run: (orderId) => {
        console.log(`runs ${orderId}`);
        return how === "hang" ? new Promise(() => {}) : undefined;
      },
      options: { lease: { seconds: 2 } },
    }),
  ],
  tasks: { enqueue: () => Promise.reject(new Error("a worker hands nothing over")) },
});

if (broker === "bullmq") {
  const worker = new Worker(queue, (job) => deliverTask(outbox, job.data), {
    connection: new Redis(url, { maxRetriesPerRequest: null }),
  });
  await worker.waitUntilReady();
} else {
  const channel = await (await connect(url)).createChannel();
  await workRabbitmqTasks(channel, queue, (message) => deliverTask(outbox, message));
}
console.log("ready");
setInterval(() => {}, 60_000); // until it is killed
