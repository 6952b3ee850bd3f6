import { describe } from "node:test";
import { openPostgres, pg } from "../suite/outbox/open_postgres.ts";
import { outboxSuite } from "../suite/outbox/suite.ts";
import { postgresUrls } from "../support/databases.ts";

for (const { version, url } of postgresUrls()) {
  const harness = { name: `Postgres ${version} with pg`, open: () => openPostgres(url, pg) };
  describe(harness.name, () => outboxSuite(harness));
}
