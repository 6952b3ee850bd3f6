import { describe } from "node:test";
import { openLibsqlFile } from "../suite/outbox/open_libsql.ts";
import { outboxSuite } from "../suite/outbox/suite.ts";

const harness = { name: "libSQL in a file", open: openLibsqlFile };

describe(harness.name, () => outboxSuite(harness));
