import { isDriverCrash } from "../../src/cli/crashes.ts";

// `deno test` lets a node:test test pass although an exception or a rejection escaped from it. This makes the run fail.
function fail(what: string, reason: unknown): void {
  console.error(`${what} escaped from a test:`, reason);
  Deno.exit(70);
}
globalThis.addEventListener("error", (event) => {
  // What postgres.js throws on a lost connection where nobody can catch it; the relay goes on after it too.
  if (isDriverCrash(event.error)) event.preventDefault();
  else fail("An exception", event.error ?? event.message);
});
globalThis.addEventListener("unhandledrejection", (event) => fail("A rejection", event.reason));
