/**
 * The shop from end to end: with relays in processes of their own first, and then with a clock that is moved. It checks
 * each claim that it prints, and exits with 1 when one is false.
 *
 * ```sh
 * deno task demo
 * bun examples/shop/demo.ts
 * DATABASE_URL=postgres://... deno task demo
 * ```
 *
 * @module
 */
import process from "node:process";
import { outboxHealth } from "@owed/outbox";
import { mails } from "./demo/chapters/mail.ts";
import { offers } from "./demo/chapters/offers.ts";
import { orders } from "./demo/chapters/orders.ts";
import { partners } from "./demo/chapters/partners.ts";
import { past } from "./demo/chapters/past.ts";
import { relays } from "./demo/chapters/relays.ts";
import { claim, conclude, step, title } from "./demo/claims.ts";
import { makeDatabase, openStorage } from "./demo/database.ts";
import { readLogs } from "./demo/logs.ts";
import { relayOutput } from "./demo/relay_process.ts";
import { demoShop } from "./demo/shop.ts";
import { equal, type Stage } from "./demo/stage.ts";
import { createTables } from "./schema.ts";
import { receiveGoods } from "./stock.ts";

await using database = await makeDatabase(process.env.DATABASE_URL).catch((error) => {
  console.error(`Cannot run the demo: ${error.message || error.code}`);
  process.exit(1);
});
await using outbox = demoShop(await openStorage(database.env));
const stage: Stage = { outbox, database };

title("owed: the shop from end to end", `on ${database.title}, with relays in processes of their own`);
await readLogs();
await outbox.storage.migrate();
await createTables(outbox);
await outbox.transaction((tx) => receiveGoods(tx, [{ sku: "lamp", quantity: 10 }]));

const placed = await orders(stage);
await relays(stage, placed);
await partners(stage);
const made = await mails(stage);
await offers(stage, made);
const unheard = await past(stage);

step("The books are in order", "audit.ts");
{
  const { owed, scheduled, dead, orphaned, receivers } = await outboxHealth(outbox);
  claim("nothing is owed, now or later", owed + scheduled + orphaned === 0, receivers);
  const names = receivers.map(({ key, dead }) => `${key} ${dead}`).sort();
  const isKnown = equal(names, ["partners.notify 2", "receipts.email 1"]);
  claim("what is dead are the 3 debts that this demo gave up", dead === 3 && isKnown, names);
  const fired = (await outbox.storage.findEvents({})).map(({ id }) => id);
  const audited = (await database.sql`select event_id from audit_trail order by event_id`).map((row) => row.event_id);
  const isAudited = audited.length === fired.length - unheard && new Set(audited).size === audited.length &&
    audited.every((id) => fired.includes(String(id)));
  claim(`the audit trail has each of the ${fired.length} events once, but for the ${unheard} imported ones`, isAudited);
}

if (!conclude()) console.log(`The relays wrote:\n${relayOutput()}`);
