import { existsSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { inside, type Outbox } from "../core.ts";
import { MigrationsMissing } from "../errors.ts";
import type { Storage } from "../storage/storage.ts";
import { Misused } from "./exit_codes.ts";
import { logLevel, showLogs } from "./logging.ts";
import { openStorage } from "./open_storage.ts";
import { say } from "./output.ts";

const EXPECTED = "an outbox, or a function that makes one from a storage, as `outbox` or as the default export";

/** An application's outbox, ready for a command. */
export interface App {
  readonly outbox: Outbox;
  /** What the command line called it. */
  readonly name: string;
  /** The database, for messages. */
  readonly database: string;
  /** Whether the command may migrate the database unasked. */
  readonly migratesItself: boolean;
}

/**
 * Loads the module that exports the outbox: `outbox`, else the default export. A function is given the storage that
 * `DATABASE_URL` picks. Without a module it is the example shop of this package.
 *
 * @throws {Misused | Error} in one sentence, when there is no such module, it throws, or it exports no outbox
 */
export async function openApp(app: string | undefined): Promise<App> {
  const name = app ?? "the example shop";
  const url = app === undefined ? exampleShop() : urlOf(app);
  const exported = await load(url, name);
  // After the module, which may configure LogTape itself.
  await showLogs(logLevel());
  if (typeof exported !== "function") {
    const outbox = checked(exported, name);
    return { outbox, name, database: outbox.storage.name, migratesItself: false };
  }
  const { storage, address, migratesItself, isDefault } = await openStorage();
  // Not silently: a variable that is missing in production would be a healthy relay on an empty database.
  if (isDefault) say(`relay: DATABASE_URL is not set; using the libSQL file ${resolve("owed.db")}`);
  const outbox = checked(await build(exported, storage, name), name);
  return { outbox, name, database: address, migratesItself };
}

/**
 * Makes sure that the database can be used: it answers and has every migration.
 *
 * @throws {MigrationsMissing} when it has not and somebody configured it
 */
export async function requireMigrated({ outbox, migratesItself }: App): Promise<void> {
  const { storage } = outbox;
  if (migratesItself) await storage.migrate();
  const missing = await storage.pendingMigrations();
  if (missing.length > 0) {
    throw new MigrationsMissing(storage.name, missing);
  }
}

function exampleShop(): string {
  const url = new URL("../../examples/shop/outbox.ts", import.meta.url);
  if (url.protocol === "file:" && existsSync(url)) return url.href;
  throw new Misused("Cannot start without an application: name the module that exports its outbox, as ./outbox.ts");
}

// Two letters at least, so that C:\shop\outbox.ts is a path.
function urlOf(app: string): string {
  if (/^[a-z][a-z+.-]+:/i.test(app)) return app;
  const path = resolve(process.cwd(), app);
  if (existsSync(path)) return pathToFileURL(path).href;
  throw new Misused(
    `Cannot load the application "${app}": there is no file ${path}; name the module that exports its outbox, ` +
      `or see relay --help for the commands`,
  );
}

async function load(url: string, name: string): Promise<unknown> {
  let module: { outbox?: unknown; default?: unknown };
  try {
    module = await import(url);
  } catch (error) {
    throw new Error(`Cannot load the application "${name}": its module does not load`, { cause: error });
  }
  const exported = module.outbox ?? module.default;
  if (exported === undefined) {
    const names = Object.keys(module).join(", ") || "nothing";
    throw new Error(`Cannot use the application "${name}": expected it to export ${EXPECTED}; it exports ${names}`);
  }
  return exported;
}

// deno-lint-ignore ban-types -- whatever function the module exports; what it returns is checked
async function build(make: Function, storage: Storage, name: string): Promise<unknown> {
  try {
    return await make(storage);
  } catch (error) {
    throw new Error(`Cannot use the application "${name}": its function threw`, { cause: error });
  }
}

function checked(value: unknown, name: string): Outbox {
  if (typeof value === "object" && value !== null) {
    if (inside in value) return value as unknown as Outbox;
    if ("joining" in value && "storage" in value) {
      throw new Error(
        `Cannot use the application "${name}": its outbox was made by another copy of @owed/outbox than this relay; ` +
          `run the relay of the copy that it imports`,
      );
    }
  }
  const got = value === null ? "null" : typeof value;
  throw new Error(`Cannot use the application "${name}": expected it to export ${EXPECTED}; got ${got}`);
}
