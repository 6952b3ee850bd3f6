import { hostname } from "node:os";
import process from "node:process";

/**
 * The name of one relay or one call: the given id or host and process id, and a nonce. Two of one id are two workers:
 * an old process that still drains must not pass for the new one, nor may a relay that gives back what it does not
 * know of give back what another call of its process is running.
 *
 * @param prefix stands before host and process id
 */
export function workerName(id?: string, prefix = ""): string {
  return `${workerId(id, prefix)}#${crypto.randomUUID().slice(0, 8)}`;
}

/** What stands in it before the nonce. */
export function workerId(id?: string, prefix = ""): string {
  return (id ?? `${prefix}${host()}:${process.pid}`).slice(0, 200);
}

function host(): string {
  try {
    return hostname();
  } catch {
    // Under Deno without --allow-sys=hostname.
    return "host";
  }
}
