import { DELIVERY, part } from "../shapes.ts";
import { dueOf, nowOr, type Tables } from "./shared.ts";

/** What makes settled deliveries owed again. */
export interface ReopenStatements {
  readonly rememberSuccesses: string;
  readonly reopen: string;
}

/** The statements of `reopen`; what is missing is added by `appendMissing` of fire.ts. */
export function reopenStatements({ events, deliveries, successes, eventIndex }: Tables): ReopenStatements {
  const wanted = (name: typeof DELIVERY[number]) => part("w.value", DELIVERY, name);
  const due = dueOf("w.value", nowOr(2));
  // By digest and never by the target itself, which is in no index.
  const isWanted = `d.event_id = (${wanted("eventId")}) and d.receiver_key = (${wanted("receiverKey")})
      and d.target_digest = unhex(${wanted("targetDigest")})
      and exists (select 1 from ${events} e where e.id = d.event_id)`;

  return {
    // Before `reopen` clears their moments: a receiver that has succeeded is not to look as if it never had.
    rememberSuccesses: `
    insert into ${successes} (receiver_key, last_succeeded_at)
    select d.receiver_key, max(d.completed_at)
    from json_each(?1) w cross join ${deliveries} d indexed by ${eventIndex} on ${isWanted}
    where d.status = 'succeeded' group by d.receiver_key
    on conflict (receiver_key) do update set last_succeeded_at = max(last_succeeded_at, excluded.last_succeeded_at)`,
    // What is owed is left alone, its claim too. `claimed_at` stays, unseen behind a `claimed_by` that is null: the next
    // claim must rise above it, or a settlement of the last one that is late could pass for its own.
    reopen: `
    update ${deliveries} as d indexed by ${eventIndex} set status = 'pending', attempts = 0, lapses = 0,
      max_attempts = ${wanted("maxAttempts")}, order_key = ${wanted("orderKey")}, last_error = null,
      due_at = ${due}, available_at = max(coalesce(${due}, 0), ${nowOr(2)}), owed_since = ${nowOr(2)},
      claimed_by = null, leased_until = null, completed_at = null
    from json_each(?1) w where ${isWanted} and d.completed_at is not null
    returning 1 as row`,
  };
}
