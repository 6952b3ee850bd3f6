import assert from "node:assert/strict";
import process from "node:process";
import { it } from "node:test";
import { textOf } from "../../src/cli/commands/status.ts";
import { isDriverCrash } from "../../src/cli/crashes.ts";
import { withoutSecrets } from "../../src/cli/open_storage.ts";
import { ageOf } from "../../src/cli/output.ts";
import { onStop } from "../../src/cli/signals.ts";

it("a URL is shown without its password and its query", () => {
  const shown = {
    "postgres://ann:secret@db:5432/shop?sslmode=require": "postgres://ann@db:5432/shop",
    "postgres://ann:se@cret@db/shop": "postgres://ann@db/shop",
    "postgres://db/shop": "postgres://db/shop",
    "libsql://db.example?authToken=secret": "libsql://db.example",
    "file:owed.db": "file:owed.db",
    ":memory:": ":memory:",
  };
  for (const [url, text] of Object.entries(shown)) assert.equal(withoutSecrets(url), text);
});

it("only what postgres.js throws by itself is survived", () => {
  const thrown = (message: string, stack: string, code?: string) =>
    Object.assign(new Error(message), { stack: `Error: ${message}\n${stack}` }, code ? { code } : {});
  const driver = "    at nextWrite (file:///shop/node_modules/postgres/src/connection.js:255:22)";
  const runtime = "    at Socket._writeAfterFIN [as write] (ext:deno_node/net.ts:1:10175)";
  const application = "    at receiver (file:///shop/stock.ts:3:9)";
  assert.equal(isDriverCrash(thrown("reading 'write'", driver)), true);
  assert.equal(isDriverCrash(thrown("This socket has been ended", `${runtime}\n${driver}`)), true);
  assert.equal(isDriverCrash(thrown("read ECONNRESET", runtime, "ECONNRESET")), true);
  assert.equal(isDriverCrash(thrown("reading 'write'", `${application}\n${driver}`)), false);
  assert.equal(isDriverCrash(thrown("a bug", runtime)), false);
  assert.equal(isDriverCrash("read ECONNRESET"), false);
});

it("signal handlers that were there are put aside and come back", () => {
  const before = () => {};
  process.on("SIGTERM", before);
  try {
    {
      using _stop = onStop(() => {});
      assert.equal(process.listeners("SIGTERM").includes(before), false);
    }
    assert.equal(process.listeners("SIGTERM").filter((listener) => listener === before).length, 1);
  } finally {
    process.off("SIGTERM", before);
  }
});

it("an age is told in its two largest units", () => {
  const ages = { 0: "0 s", 59: "59 s", 61: "1 min 1 s", 3600: "1 h", 93_784: "1 d 2 h" };
  for (const [seconds, text] of Object.entries(ages)) assert.equal(ageOf(Number(seconds)), text);
});

it("the health is a table on a terminal", () => {
  const since = new Date("2026-01-01T00:00:00Z");
  const none = { owed: 0, scheduled: 0, claimed: 0, lapsed: 0, dead: 0, orphaned: 0, oldestOwedSince: null };
  const owed = { ...none, owed: 12, claimed: 2, oldestOwedSince: since };
  const dead = { ...none, dead: 3 };
  const health = { ...owed, dead: 3, receivers: [{ key: "stock.reserve", ...owed }, { key: "mail", ...dead }] };
  assert.equal(
    textOf(health, since.getTime() + 90_000),
    [
      "receiver       owed  scheduled  claimed  lapsed  dead  orphaned      oldest",
      "stock.reserve    12          0        2       0     0         0  1 min 30 s",
      "mail              0          0        0       0     3         0           -",
      "all              12          0        2       0     3         0  1 min 30 s",
    ].join("\n"),
  );
  assert.equal(textOf({ ...none, receivers: [] }, 0), "Nothing owed.");
});
