/** The shop as the demo runs it, in its own process and in its relays: short waits, and a world with faults. */
import type { Outbox, Receiver, Settings, Storage } from "@owed/outbox";
import type { Mailer } from "../mailer.ts";
import { outbox } from "../outbox.ts";
import type { Http } from "../partners.ts";

/** The mail service, as this process sees it. */
export const mail = {
  calls: 0,
  sent: [] as { to: string; text: string }[],
  /** Refuses every mail while it is set. */
  trouble: undefined as Error | undefined,
};

const mailer: Mailer = {
  send: (message) => {
    mail.calls++;
    if (mail.trouble) return Promise.reject(mail.trouble);
    mail.sent.push(message);
    return Promise.resolve();
  },
};

/** A partner whose server is down, for every process. */
export const DOWN = "https://down.example/orders";

/** How the partners answer this process; who is not listed is content. */
export const answers = new Map([[DOWN, { status: 503, headers: {} }]]);

/** Whom this process has called, and under which idempotency key. */
export const called: { url: string; key: string | null }[] = [];

const http: Http = (url, { headers }) => {
  called.push({ url, key: new Headers(headers).get("idempotency-key") });
  return Promise.resolve(new Response(null, answers.get(url)));
};

// Nobody likes to wait in a demo. The defaults are a minute, a second, two seconds to an hour, and five attempts.
const settings: Settings = {
  lease: { seconds: 1, milliseconds: 500 },
  poll: { milliseconds: 100 },
  backoff: { base: { milliseconds: 100 }, cap: { milliseconds: 400 } },
  maxAttempts: 3,
};

export function demoShop(storage: Storage, more: Receiver[] = []): Outbox {
  return outbox(storage, { mailer, http, settings, more });
}
