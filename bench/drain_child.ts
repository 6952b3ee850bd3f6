/**
 * A process that drains and tells how large it grew: `drain_child.ts raw|owed <url> <n>`.
 * @module
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { drainOwed } from "./contestants/owed.ts";
import { rawLibsql } from "./contestants/raw_libsql.ts";
import { rawPostgres } from "./contestants/raw_postgres.ts";

const [contestant, url = "", count] = process.argv.slice(2);
const n = Number(count);

const perSecond = contestant === "owed" ? (await drainOwed(url, n, 100))["per second"] : await drainRaw();
console.log(JSON.stringify({ "peak MB": peakKilobytes() / 1024, "per second": perSecond }));

/** On Linux not `maxRSS`: it starts at the size of the process that started this one. */
function peakKilobytes(): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))![1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}

async function drainRaw(): Promise<number> {
  await using raw = url.startsWith("postgres:") ? rawPostgres(url) : rawLibsql(url);
  const seconds = await raw.drain(n);
  await raw.check(n);
  return n / seconds;
}
