/** A process that migrates and says how much. Started by sharing.test.ts. */
import { argv } from "node:process";
import { createClient } from "@libsql/client";
import { libsqlStorage } from "../../../src/storage/sqlite/mod.ts";

const storage = libsqlStorage(() => createClient({ url: argv[2]! }));
console.log(`applied ${(await storage.migrate()).length}`);
await storage.close();
