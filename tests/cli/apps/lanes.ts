import { createOutbox, event, NotYet, type Outbox, receiver, type Storage } from "../../../mod.ts";

export const Sent = event<{ n: number }>("cli.sent");

/** A receiver in each of three lanes. */
export default function outbox(storage: Storage): Outbox {
  return createOutbox({
    storage,
    receivers: [
      receiver(Sent, "note", () => {}),
      receiver(Sent, "mail", () => {
        throw new NotYet(new Date(Date.now() + 3_600_000));
      }, { lane: "mail" }),
      receiver(Sent, "phone", () => {}, { lane: "phone" }),
    ],
  });
}
