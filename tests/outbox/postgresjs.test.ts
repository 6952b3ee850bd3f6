import { describe } from "node:test";
import { openPostgres, postgresJs } from "../suite/outbox/open_postgres.ts";
import { outboxSuite } from "../suite/outbox/suite.ts";
import { postgresUrls } from "../support/databases.ts";

for (const { version, url } of postgresUrls()) {
  const harness = { name: `Postgres ${version} with postgres.js`, open: () => openPostgres(url, postgresJs) };
  describe(harness.name, () => outboxSuite(harness));
}
