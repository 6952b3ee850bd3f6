import { anyEvent, receiver } from "@owed/outbox";
import { sqlIn } from "./sql.ts";

/** Hears every event, those that are declared tomorrow included, and keeps who did what, and what led to what. */
export const auditTrail = receiver(anyEvent, "audit.trail", async (payload, ctx) => {
  const sql = sqlIn(await ctx.transaction());
  const { eventId, eventName, actor = null, causationId = null, correlationId = null } = ctx;
  await sql`insert into audit_trail (event_id, event_name, actor, caused_by, correlation_id, payload)
    values (${eventId}, ${eventName}, ${actor}, ${causationId}, ${correlationId}, ${JSON.stringify(payload)})`;
});
