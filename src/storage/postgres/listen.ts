import { errorType, logger } from "../../log.ts";
import type { Connections } from "./connections.ts";
import type { Statements } from "./statements.ts";
import { sleep } from "./timers.ts";

/** How long after subscribing an own notification must have been heard. */
const SELF_TEST_MS = 5_000;

/** What the self-test sends; wakes are empty. */
const SELF_TEST = "test";

/** Between attempts to subscribe: at first, and at most. */
const RETRY_MS = 250;
const RETRY_MOST_MS = 10_000;

const log = logger(["storage", "postgres"]);

/**
 * Hears wakes until the signal aborts, on a connection of its own that is made again when it is lost. Resolves once it
 * is subscribed, or once the first attempt has failed: polling is the floor either way.
 */
export async function listen(
  connections: Connections<unknown>,
  statements: Statements,
  channel: string,
  onWake: () => void,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  const first = Promise.withResolvers<void>();
  void keepListening(connections, statements, channel, onWake, signal, first.resolve);
  await first.promise;
}

async function keepListening(
  connections: Connections<unknown>,
  statements: Statements,
  channel: string,
  onWake: () => void,
  signal: AbortSignal,
  tried: () => void,
): Promise<void> {
  let pause = RETRY_MS;
  let everHeard = false;
  let warned = false;
  let everListened = false;
  const heard = (payload: string): void => {
    everHeard = true;
    // The server may still send between the abort and its own end.
    if (payload !== SELF_TEST && !signal.aborted) onWake();
  };
  const listening = (): void => {
    pause = RETRY_MS;
    tried();
    // What was sent while nobody listened is lost.
    if (everListened && !signal.aborted) onWake();
    everListened = true;
    if (!everHeard) void testItself();
  };
  async function testItself(): Promise<void> {
    await connections.cold("notify", statements.wake, [channel, SELF_TEST]).catch(() => {});
    await sleep(SELF_TEST_MS, signal);
    if (everHeard || warned || signal.aborted) return;
    warned = true;
    log.warn(
      "LISTEN on {address} hears nothing, as behind a pooler in transaction mode; the relay polls. " +
        "Give it a direct connection to be woken at once",
      { address: connections.address },
    );
  }
  while (!signal.aborted) {
    try {
      await connections.listen(channel, heard, listening, signal);
    } catch (error) {
      if (!warned && !signal.aborted) {
        warned = true;
        log.warn("Cannot LISTEN on {address}: {error}; the relay polls meanwhile", {
          address: connections.address,
          error: errorType(error),
        });
      }
    }
    tried();
    if (signal.aborted) return;
    await sleep(pause, signal);
    pause = Math.min(pause * 2, RETRY_MOST_MS);
  }
}
