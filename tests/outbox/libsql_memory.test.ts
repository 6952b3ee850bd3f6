import { describe } from "node:test";
import { openLibsqlMemory } from "../suite/outbox/open_libsql.ts";
import { outboxSuite } from "../suite/outbox/suite.ts";

const harness = {
  name: "libSQL in memory",
  open: openLibsqlMemory,
  skip: [{
    reason: "a database in memory is migrated by itself",
    tests: ["the relay: without the migrations it does not start"],
  }, {
    reason: "a database in memory runs one delivery at a time",
    tests: ["pauses: what runs finishes, none is started, and the lane waits for the latest moment of all"],
  }],
};

describe(harness.name, () => outboxSuite(harness));
