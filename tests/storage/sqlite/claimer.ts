/** A process that claims and settles until nothing is owed, and prints what it has claimed. Started by sharing.test.ts. */
import { argv } from "node:process";
import { createClient } from "@libsql/client";
import { libsqlStorage } from "../../../src/storage/sqlite/mod.ts";
import { takeTime } from "../../support/wait_for.ts";

const [url, worker] = argv.slice(2) as [string, string];
const storage = libsqlStorage(() => createClient({ url }));
const receivers = ["a", "b", "c"].map((key) => ({ key, leaseMs: 60_000 }));
console.log("ready");
let empty = 0;
const claimed: string[] = [];
while (empty < 20) {
  const rows = await storage.claim({ worker, receivers, limit: 20 });
  for (const { fence } of rows) claimed.push(fence.id);
  const answers = await storage.settle(rows.map(({ fence }) => ({ fence, settlement: { kind: "succeeded" } })));
  for (const answer of answers) if (answer !== "applied") console.log(`answered ${answer}`);
  empty = rows.length === 0 ? empty + 1 : 0;
  await takeTime(empty === 0 ? 0 : 10);
}
console.log(`claimed ${JSON.stringify(claimed)}`);
await storage.close();
