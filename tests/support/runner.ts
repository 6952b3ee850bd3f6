/**
 * Runs the tests under Deno and Bun against the same servers, and ends with one line that sums both up.
 * Usage: runner.ts [--deno | --bun] [--postgres=15,18] [part of a path ...]
 *        runner.ts --brokers [--deno | --bun] [part of a path ...]
 * @module
 */
import { globSync, readFileSync } from "node:fs";
import process from "node:process";
import postgres from "postgres";
import { bunPath, installTools } from "../../tools/install.ts";
import { brokerVariables, openBroker } from "./brokers.ts";
import { temporaryFile } from "./databases.ts";
import { readJunit } from "./junit.ts";
import { startPostgres } from "./postgres_server.ts";

interface Summary {
  passed: number;
  failures: string[];
}

const flags = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const paths = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const flag = (name: string) => flags.find((given) => given.startsWith(`--${name}=`))?.split("=")[1];
const versions = (flag("postgres") ?? "15,18").split(",").map(Number);
const only = flags.find((given) => given === "--deno" || given === "--bun")?.slice(2);
// What needs a broker is a task of its own.
const onBrokers = flags.includes("--brokers");
const runtimes = (["deno", "bun"] as const).filter((runtime) => !only || runtime === only);

// A test that hangs while something is alive hangs Deno for ever.
const ceilingMinutes = 3 * Math.max(2, versions.length);

await using cleanup = new AsyncDisposableStack();
let running: Deno.ChildProcess | undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, async () => {
    kill(running, "SIGKILL");
    await cleanup.disposeAsync();
    Deno.exit(signal === "SIGINT" ? 130 : 143);
  });
}

process.exitCode = await main();

async function main(): Promise<number> {
  const files = globSync("tests/**/*.test.ts").sort()
    .filter((file) => file.startsWith("tests/brokers/") === onBrokers)
    .filter((file) => paths.length === 0 || paths.some((path) => file.includes(path.replace(/^\.\//, ""))));
  const sum: Summary = { passed: 0, failures: [] };
  if (files.length === 0) {
    sum.failures.push(`No test file has "${paths.join('" or "')}" in its path`);
  } else {
    try {
      const servers = await (onBrokers ? runningBrokers() : databases());
      for (const runtime of runtimes) {
        const { passed, failures } = await run(runtime, files, servers);
        sum.passed += passed;
        sum.failures.push(...failures);
      }
    } catch (error) {
      sum.failures.push(String(error instanceof Error ? error.stack : error));
    }
  }
  if (sum.failures.length > 0) {
    console.log(`\n${sum.failures.map((failure) => `FAILED ${failure}`).join("\n")}`);
  }
  console.log(`\n${sum.passed} passed, ${sum.failures.length} failed`);
  return sum.failures.length > 0 ? 1 : 0;
}

/** What a run is told of its servers. */
interface Servers {
  readonly names: string;
  readonly env: Record<string, string>;
}

async function runningBrokers(): Promise<Servers> {
  installTools();
  const env: Record<string, string> = {};
  // One after the other: two installations at a time would wait for each other's lock.
  for (const variable of brokerVariables) env[variable] = cleanup.use(await openBroker(variable)).url;
  return { names: "Redis and RabbitMQ", env };
}

async function databases(): Promise<Servers> {
  const given = process.env.OWED_TEST_POSTGRES_URL;
  if (given) {
    const sql = postgres(given, { max: 1 });
    const [row] = await sql`select current_setting('server_version_num')::int / 10000 as version`
      .catch((cause) => Promise.reject(new Error(`Cannot use OWED_TEST_POSTGRES_URL (${given}): ${cause.message}`)))
      .finally(() => sql.end());
    return serversOf([{ version: row?.version, url: given }]);
  }
  installTools();
  if (versions.some((version) => version === 16 || version === 17)) installTools("matrix");
  const starting = versions.map(async (version) => cleanup.use(await startPostgres(version)));
  await Promise.allSettled(starting); // so that those that did start are stopped if another did not
  return serversOf((await Promise.all(starting)).map(({ version, url }) => ({ version, url })));
}

function serversOf(servers: { version: number; url: string }[]): Servers {
  return {
    names: `Postgres ${servers.map(({ version }) => version).join(", ")} and libSQL`,
    env: { OWED_TEST_POSTGRES_SERVERS: JSON.stringify(servers) },
  };
}

async function run(runtime: "deno" | "bun", files: string[], servers: Servers): Promise<Summary> {
  installTools();
  await using report = temporaryFile("junit.xml");
  const [command, args] = runtime === "deno"
    ? [Deno.execPath(), ["--no-check", "-A", "--preload=tests/support/deno_guard.ts", `--junit-path=${report.path}`]]
    : [bunPath, ["--timeout=60000", "--reporter=junit", `--reporter-outfile=${report.path}`]];
  const title = `${runtime} on ${servers.names}`;
  console.log(`\n${title}: ${files.length} test files`);

  const startedAt = performance.now();
  running = new Deno.Command(command, {
    args: ["test", "--parallel", ...args, ...files.map((file) => `./${file}`)],
    env: {
      ...servers.env,
      OWED_TEST_DENO: Deno.execPath(),
      OWED_TEST_BUN: bunPath,
      ...(Deno.stdout.isTerminal() ? {} : { NO_COLOR: "1" }),
    },
    stdin: "null",
  }).spawn();
  const child = running;
  const ceiling = setTimeout(() => {
    console.error(`Ended after ${ceilingMinutes} minutes: a test hangs`);
    kill(child, "SIGINT"); // Deno then names the tests that were pending
    Deno.unrefTimer(setTimeout(() => kill(child, "SIGKILL"), 5_000));
  }, ceilingMinutes * 60_000);
  const { code } = await child.status.finally(() => clearTimeout(ceiling));
  running = undefined;

  const { passed, skipped, failures } = judge(report.path, files, code);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${title}: ${passed} passed, ${failures.length} failed, ${skipped} skipped in ${seconds} s`);
  return { passed, failures: failures.map((failure) => `${runtime}: ${failure}`) };
}

function kill(child: Deno.ChildProcess | undefined, signal: Deno.Signal): void {
  try {
    child?.kill(signal);
  } catch { /* it has ended */ }
}

function judge(report: string, files: string[], code: number): Summary & { skipped: number } {
  let xml = "";
  try {
    xml = readFileSync(report, "utf8");
  } catch { /* the run broke off before it could report */ }
  const cases = readJunit(xml);
  const count = (state: string) => cases.filter((test) => test.state === state).length;
  const failures = cases.filter(({ state }) => state === "failed").map(({ file, name }) => `${name} ${file}`.trim());
  const brokeOff = xml === "" || code > 1;
  if (!brokeOff) {
    // A file that ran nothing looks like success to a runner that counts failures.
    const named = xml.matchAll(/<testcase\b[^>]*? (?:file|classname)="(?:\.\/)?([^"]+\.test\.ts)"/g);
    const ran = new Set([...named].map(([, file]) => file));
    failures.push(...files.filter((file) => !ran.has(file)).map((file) => `${file} ran no test`));
  }
  if (failures.length === 0 && count("passed") === 0) failures.push(`no test ran to its end (exit code ${code})`);
  if (failures.length === 0 && code !== 0) failures.push(`the run ended with exit code ${code}; the reason is above`);
  return { passed: count("passed"), skipped: count("skipped"), failures };
}
