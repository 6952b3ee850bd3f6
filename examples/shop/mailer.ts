import type { Duration } from "@owed/outbox";

/** Sends mail. The same `id` twice is the same mail: a delivery that is retried must not send a second one. */
export interface Mailer {
  /** @throws {Throttled} when the provider wants to be left alone for a while */
  send(mail: { id: string; to: string; text: string }, signal: AbortSignal): Promise<void>;
}

export class Throttled extends Error {
  override readonly name = "Throttled";

  constructor(readonly retryAfter: Duration) {
    super("The mail provider's rate is exceeded");
  }
}
