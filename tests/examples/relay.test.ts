import assert from "node:assert/strict";
import { it } from "node:test";
import { createClient } from "@libsql/client";
import { RetryAfter } from "@owed/outbox";
import { libsqlStorage } from "@owed/outbox/libsql";
import { placeOrder } from "../../examples/shop/orders.ts";
import { outbox as shop } from "../../examples/shop/outbox.ts";
import { createTables } from "../../examples/shop/schema.ts";
import { temporaryFile } from "../support/databases.ts";
import { startProcess } from "../support/processes.ts";

it("a relay without an application pays the shop's debts", async () => {
  await using file = temporaryFile();
  await using outbox = shop(libsqlStorage(() => createClient({ url: file.url })), {
    // The attempt at the commit: it leaves the receipt to the relay, and at once.
    mailer: { send: () => Promise.reject(new RetryAfter({ milliseconds: 0 })) },
  });
  await outbox.storage.migrate();
  await createTables(outbox);
  const order = { orderId: "1", customer: "ada@example.com", sku: "lamp", quantity: 1, cents: 4900 };
  const eventId = await outbox.transaction((tx) => placeOrder(tx, order));

  const relay = new URL("../../relay.ts", import.meta.url);
  await using run = startProcess(relay, { args: ["--once"], env: { DATABASE_URL: file.url } });
  assert.equal((await run.exited).code, 0, run.stderr.join("\n"));
  assert.ok(run.stdout.includes("mail to ada@example.com: Thank you for order 1: 49.00"), run.stdout.join("\n"));
  const debts = await outbox.storage.findDeliveries({ eventId: eventId! });
  assert.deepEqual(debts.map(({ receiverKey, status }) => [receiverKey, status]), [
    ["stock.reserve", "succeeded"],
    ["receipts.email", "succeeded"],
    ["audit.trail", "succeeded"],
  ]);
});
