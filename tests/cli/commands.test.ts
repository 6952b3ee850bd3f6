import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { it } from "node:test";
import { fire } from "../../mod.ts";
import { openStorage } from "../../src/cli/open_storage.ts";
import { temporaryFile } from "../support/databases.ts";
import bind, { Noted } from "./apps/function.ts";
import lanes, { Sent } from "./apps/lanes.ts";
import { app, relay } from "./command.ts";

it("each command has a help page, which tells the exit codes or its options", async () => {
  const [all, run, migrate, status] = await Promise.all([
    relay(["--help"]),
    relay(["run", "-h"]),
    relay(["migrate", "--help"]),
    relay(["status", "--help"]),
  ]);
  assert.match(all.stdout, /migrate.*\n[\s\S]*status[\s\S]*DATABASE_URL|DATABASE_URL[\s\S]*migrate/);
  assert.match(all.stdout, /Exit codes: 0 done, 1 failed, 2 .*, 4 .*128/);
  const flags = ["once", "limit", "worker-id", "batch-size", "passes", "concurrency", "grace", "lane", "all-lanes"];
  for (const flag of flags.map((name) => `--${name}`)) {
    assert.ok(run.stdout.includes(`\n  ${flag}`), `${flag} is explained`);
  }
  assert.match(migrate.stdout, /--print/);
  assert.match(status.stdout, /--json/);
  for (const { code, stderr } of [all, run, migrate, status]) {
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  }
});

it("completion is offered for shells, and knows that run is meant", async () => {
  const [script, flags] = await Promise.all([relay(["completion", "bash"]), relay(["completion", "bash", "--on"])]);
  assert.match(script.stdout, /complete .*relay/);
  assert.match(flags.stdout, /--once/);
});

it("a database is migrated, filled, shown, worked off in steps, and shown again", async () => {
  await using file = temporaryFile();
  const options = { env: { DATABASE_URL: file.url } };
  const command = (...args: string[]) => relay([args[0]!, app("function"), ...args.slice(1)], options);

  const early = await command("run", "--once");
  assert.match(early.stderr, /migration 1 "tables" is missing; run the relay's command "migrate"/);
  assert.equal(early.code, 1);
  assert.match(
    (await command("migrate", "--print")).stdout,
    /^begin[\s\S]*-- Migration 1 [\s\S]*create table[\s\S]*commit;\n*$/,
  );
  assert.match((await command("migrate")).stdout, /^Applied migration 1 /);
  assert.match((await command("migrate")).stdout, /^Nothing to apply/);
  assert.equal((await command("run", "--once")).stdout, "Nothing due.");

  const { storage } = await openStorage(file.url);
  await using outbox = bind(storage);
  await outbox.transaction(async (tx) => {
    for (const n of [1, 2, 3]) await fire(tx, Noted({ n }));
  });
  const owed = JSON.parse((await command("status")).stdout);
  assert.equal(owed.owed, 6);
  assert.deepEqual(owed.receivers.map(({ key }: { key: string }) => key).sort(), ["fail", "note"]);
  assert.ok(owed.oldestOwedAgeSeconds >= 0);

  assert.equal((await command("run", "--limit", "2")).stdout, "1 dead, 1 succeeded");
  const rest = await command("run", "--once", "--json");
  assert.deepEqual(JSON.parse(rest.stdout), { dead: 2, failed: 0, orphaned: 0, pending: 0, succeeded: 2 });
  const after = JSON.parse((await command("status", "--json")).stdout);
  assert.deepEqual([after.owed, after.dead, after.oldestOwedAgeSeconds], [0, 3, null]);
});

it("a relay serves the default lane, the one that it is told to, or all of them", async () => {
  await using file = temporaryFile();
  const options = { env: { DATABASE_URL: file.url } };
  const once = async (...args: string[]) => (await relay([app("lanes"), "--once", ...args], options)).stdout;
  const { storage } = await openStorage(file.url);
  await storage.migrate();
  await using outbox = lanes(storage);
  const send = () => outbox.transaction((tx) => fire(tx, Sent({ n: 1 })));

  await send();
  assert.equal(await once(), "1 succeeded");
  assert.equal(await once("--lane", "default"), "Nothing due.");
  assert.equal(await once("--lane", "mail"), "1 pending");
  assert.equal(await once("--lane", "phone"), "1 succeeded");
  await send();
  assert.equal(await once("--all-lanes"), "1 pending, 2 succeeded");
  await send();
  const counts = (await relay([app("lanes"), "--lane", "phone", "--passes", "1", "--json"], options)).stdout;
  assert.deepEqual(JSON.parse(counts), { dead: 0, failed: 0, orphaned: 0, pending: 0, succeeded: 1 });
});

it("without a database the embedded file serves, migrated unasked", async () => {
  await using file = temporaryFile();
  const cwd = dirname(file.path);
  const ended = await relay([app("function"), "--once"], { cwd, env: { DATABASE_URL: "" } });
  assert.deepEqual([ended.stdout, ended.code], ["Nothing due.", 0]);
  assert.match(ended.stderr, /^relay: DATABASE_URL is not set; using the libSQL file .*owed\.db$/);
  assert.ok(readdirSync(cwd).includes("owed.db"));
});

it("an outbox that is bound to its storage keeps it", async () => {
  const env = { DATABASE_URL: "mysql://not.used" };
  const ended = await relay([app("bound"), "--passes", "1", "--json"], { env });
  assert.deepEqual([ended.stderr, ended.code], ["", 0]);
  assert.deepEqual(JSON.parse(ended.stdout), { dead: 0, failed: 0, orphaned: 0, pending: 0, succeeded: 0 });
});

it("the log is a line of JSON for each record where nobody reads it on a terminal", async () => {
  const { stderr } = await relay([app("function"), "--passes", "1"], { env: { OWED_LOG: "info" } });
  const records = stderr.split("\n").map((line) => JSON.parse(line));
  assert.ok(records.some(({ message }) => message === "the relay is ready"), stderr);
});
