import type { Core } from "../core.ts";
import { errorType, logger } from "../log.ts";

const log = logger(["firing"]);

/** What one fired event asks for once its transaction has committed. */
export interface AfterCommit {
  readonly eventId: string;
  /** Whether any debt was written for it. */
  readonly owed: boolean;
  readonly eagerKeys: readonly string[];
  readonly onCommit: readonly OnCommitCall[];
}

/** An on-commit receiver with its payload and context bound. */
export interface OnCommitCall {
  readonly receiverKey: string;
  readonly call: () => unknown;
}

/**
 * Runs what a committed transaction asked for. Never throws: the change is committed, and nothing here may look like
 * its failure. Awaited or left in the background as the settings say.
 */
export async function runAfterCommit(core: Core, asked: readonly AfterCommit[]): Promise<void> {
  if (asked.length === 0) return;
  core.announceSometimes();
  const running = run(core, asked);
  if (core.settings.afterCommit === "await") return await running;
  core.background.add(running);
  void running.finally(() => core.background.delete(running));
}

async function run(core: Core, asked: readonly AfterCommit[]): Promise<void> {
  // The eager rows are claimed before the wake, else every relay that it wakes would race for them.
  const eager = asked.filter((one) => one.eagerKeys.length > 0);
  let attempt = () => Promise.resolve();
  if (eager.length > 0) {
    try {
      const keys = new Set(eager.flatMap((one) => one.eagerKeys));
      attempt = await core.eager(eager.map((one) => one.eventId), [...keys]);
    } catch (error) {
      log.warn("could not claim eager deliveries ({error}); the relay will pay them", { error: errorType(error) });
    }
  }
  if (asked.some((one) => one.owed)) core.wake();
  try {
    await attempt();
  } catch (error) {
    log.warn("an eager attempt ended without an outcome ({error}); the relay will pay it", { error: errorType(error) });
  }
  for (const { receiverKey, call } of asked.flatMap((one) => one.onCommit)) {
    try {
      await call();
    } catch (error) {
      log.error("on-commit receiver {receiver} failed with {error}; nothing will run it again", {
        receiver: receiverKey,
        error: errorType(error),
      });
    }
  }
}
