import type { EventRecord } from "./records.ts";

/**
 * What stands for the event of a claimed row when somebody deleted it by hand: the debt is still claimed, so that it
 * ends where an operator sees it.
 */
export function deletedEvent(id: string): EventRecord {
  const none = { key: null, topic: null, actor: null, actorLabel: null, scope: null, trace: null };
  return { id, name: "", version: 0, payload: "", occurredAt: 0n, correlationId: null, causationId: null, ...none };
}
