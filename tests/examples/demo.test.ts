import assert from "node:assert/strict";
import { it } from "node:test";
import { postgresUrls } from "../support/databases.ts";
import { startProcess } from "../support/processes.ts";

const demo = new URL("../../examples/shop/demo.ts", import.meta.url);

const databases = [
  { database: "libSQL, with nothing configured", url: "", shown: "libSQL" },
  ...postgresUrls().map(({ version, url }) => ({ database: `Postgres ${version}`, url, shown: "Postgres" })),
];

for (const { database, url, shown } of databases) {
  it(`the demo's claims are true on ${database}`, async () => {
    await using run = startProcess(demo, { env: { DATABASE_URL: url } });
    const { code } = await run.exited;
    const output = [...run.stdout, ...run.stderr].join("\n");
    assert.equal(code, 0, output);
    assert.match(output, new RegExp(`^on ${shown}, `, "m"));
    assert.match(run.stdout.findLast((line) => line !== "") ?? "", /^83 claims hold, 0 are false \(\d+\.\d s\)$/);
    assert.deepEqual(run.stdout.filter((line) => line.includes("\x1b")), [], "It does not colour what is no terminal");
    assert.deepEqual(run.stderr, []);
  });
}

it("the demo exits with 1 when a claim is false, and says which", async () => {
  await using run = startProcess(new URL("./false_claim.ts", import.meta.url));
  assert.deepEqual(await run.exited, { code: 1, signal: null });
  assert.deepEqual(run.stdout.filter((line) => /[✓✗]/.test(line)), [
    "    ✓ one is one",
    "    ✗ one is two; found { one: 1 }",
  ]);
  assert.match(await run.line("claims hold"), /^1 claims hold, 1 is false /);
});

it("the demo keeps away from a database that is not meant for it", async () => {
  await using run = startProcess(demo, { env: { DATABASE_URL: "file:production.db" } });
  assert.equal((await run.exited).code, 1);
  assert.deepEqual(run.stderr, [
    "Cannot run the demo: DATABASE_URL must be postgres://..., or absent for a new libSQL file",
  ]);
});
