import { createClient } from "@libsql/client";
import { libsqlStorage } from "../../../src/storage/sqlite/mod.ts";
import bind from "./function.ts";

/** By name, bound to its storage. */
export const outbox = bind(libsqlStorage(createClient({ url: ":memory:" })));
