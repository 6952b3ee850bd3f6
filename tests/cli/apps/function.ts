import { createOutbox, event, type Outbox, receiver, type Storage } from "../../../mod.ts";

export const Noted = event<{ n: number }>("cli.noted");

/** By default, as a function. */
export default function outbox(storage: Storage): Outbox {
  const note = receiver(Noted, "note", () => {});
  const fail = receiver(Noted, "fail", () => {
    throw new Error("no mail server");
  }, { maxAttempts: 1 });
  return createOutbox({ storage, receivers: [note, fail] });
}
