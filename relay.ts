/**
 * The relay as a command: pays what an application's outbox owes, applies migrations, and tells how the outbox is doing.
 *
 * ```sh
 * deno task relay ./shop/outbox.ts           # until SIGTERM or SIGINT
 * bun relay.ts ./shop/outbox.ts --once       # until nothing is due, for a scheduled job
 * deno task relay migrate ./shop/outbox.ts   # applies the migrations that the database lacks
 * deno task relay status ./shop/outbox.ts    # what is owed, by receiver
 * ```
 *
 * The module exports `outbox` (or exports by default): an outbox that is bound to its storage, or a function that makes
 * one from a storage, which `DATABASE_URL` then picks. `relay --help` tells the rest.
 *
 * @module
 */
import process from "node:process";
import { main } from "./src/cli/main.ts";

if (import.meta.main) process.exit(await main(process.argv.slice(2)));
