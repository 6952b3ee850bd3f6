import type { NewDelivery } from "./records.ts";
import type { Reopening } from "./storage.ts";

/** All that is to be owed after a `reopen`, each once; of what is named twice the first counts. */
export function wantedOf(events: readonly Reopening[]): NewDelivery[] {
  const wanted = new Map<string, NewDelivery>();
  for (const { eventId, deliveries } of events) {
    for (const delivery of deliveries) {
      const key = JSON.stringify([eventId, delivery.receiverKey, delivery.target]);
      if (!wanted.has(key)) wanted.set(key, { ...delivery, eventId });
    }
  }
  return [...wanted.values()];
}
