import type { Statement } from "../clients/client.ts";
import { claimed, clock, fence, type Schema } from "./shared.ts";

/** What claims need. */
export interface ClaimStatements {
  /** For a number of receivers, and the rows that each may offer: a literal, with which the planner can reckon. */
  claim(count: number, depth: number): Statement;
  claimIgnoringBackoff(count: number, depth: number): Statement;
  claimOfOne(depth: number): Statement;
  claimOfMany(depth: number): Statement;
  readonly claimDeliveries: Statement;
  readonly claimEvents: Statement;
  readonly take: Statement;
}

/** The statements of claims over a schema. */
export function claimStatements({ owed, named, once }: Schema): ClaimStatements {
  // A row is there for whom it is due and whose lease, if any, has lapsed: fresh, handed back and lapsed in one arm.
  const free = (now: string): string => `(d.leased_until is null or d.leased_until <= ${now})`;

  /** A row whose event was deleted by hand comes without it, or nobody would ever see it end. */
  const leased = (now: string): string =>
    `select ${claimed(now)}
from u left join lateral (select * from ${owed}.events e where e.id = u.event_id limit 1) e on true`;

  /** Leases the rows of the CTE `c`, writing lease columns only, which keeps the update within the page. */
  const lease = (now: string): string => `
u as (
  update ${owed}.deliveries d set
    claimed_by = $2::text, claimed_at = greatest(${now}, d.claimed_at + interval '1 microsecond'),
    leased_until = ${now} + ((select $5::text::jsonb) ->> d.receiver_key)::float8 * interval '1 millisecond',
    lapses = d.lapses + (d.leased_until is not null)::int
  where d.id = any(array(select id from c))
  returning d.*)
${leased(now)}`;

  // $1 JSON [{k: receiver, at, id: position}], $2 worker, $3 limit, $4 now, $5 JSON {receiver: lease in ms},
  // $6 due for, in ms.
  const ofReceivers = [
    ["k", "array(select v->>'k' from json_array_elements($1::text::json) v)"],
    ["at", "array(select coalesce((v->>'at')::timestamptz, '-infinity') from json_array_elements($1::text::json) v)"],
    ["id", "array(select coalesce((v->>'id')::bigint, 0) from json_array_elements($1::text::json) v)"],
  ] as const;
  const receivers = `unnest(${ofReceivers.map(([, of]) => of).join(", ")}) k(k, at, id)`;

  /** The rows of one receiver that are to be had, from its position on, in the order of the index. */
  const offered = (due: string, key: string, at: string, id: string, depth: number): string => `
    select d.id, d.available_at from ${owed}.deliveries d
    where d.receiver_key = ${key} and d.completed_at is null and ${due} and ${free(clock(4))}
      and (d.available_at, d.id) >= (${at}, ${id})
    order by d.available_at, d.id limit ${depth}`;

  /** Locks what the CTE or subquery `heads` offers, in its order. It is looked at again: another may have been faster. */
  const locked = (heads: string, due: string): string => `
c as materialized (
  select x.id from ${heads} heads
  cross join lateral (
    select d.id from ${owed}.deliveries d
    where d.id = heads.id and d.completed_at is null and ${due} and ${free(clock(4))}
    limit 1 for no key update skip locked) x
  limit $3::int),${lease(clock(4))}`;

  const claimOf = (due: string) => (count: number, depth: number): string => {
    const at = (name: string, index: number): string => `(select ${name}[${index + 1}] from k)`;
    const arms = Array.from(
      { length: count },
      (_, i) => `(${offered(due, at("k", i), at("at", i), at("id", i), depth)})`,
    );
    return `
with k as materialized (select ${ofReceivers.map(([name, of]) => `${of} ${name}`).join(", ")}),
${locked(`(select * from (${arms.join(" union all ")}) arms order by available_at, id)`, due)}`;
  };

  const due = `d.available_at <= ${clock(4)} - $6::float8 * interval '1 millisecond'`;
  // A failed row before its backoff is over, but never one that is scheduled for later.
  const dueOrFailed = `(${due} or (d.status = 'failed' and (d.due_at is null or d.due_at <= ${clock(4)})))`;

  const named_ = (by: string, due: string): string => {
    const now = clock(4);
    return `
with c as materialized (
  select x.id
  from ${receivers}
  cross join lateral (
    select d.id from ${owed}.deliveries d
    where d.${by} = any(array(select v::${
      by === "id" ? "bigint" : "uuid"
    } from json_array_elements_text($3::text::json) v))
      and d.receiver_key = k.k and d.completed_at is null and ${due} and ${free(now)}
    order by d.available_at, d.id for no key update skip locked) x),${lease(now)}`;
  };

  return {
    // Order over all receivers: an arm for each walks the index, the arms are merged as far as is needed, and rows are
    // locked in that order up to the limit. Locking before merging would lock what is not claimed. A lock that another
    // relay holds is passed over, and the merge goes on behind it. An arm's limit keeps the planner to its index.
    claim: (count, depth) => once("claim", [count, depth], () => claimOf(due)(count, depth)),

    claimIgnoringBackoff: (count, depth) =>
      once("claim_ignoring_backoff", [count, depth], () => claimOf(dueOrFailed)(count, depth)),

    // The same order for one receiver: the scan locks as it goes.
    claimOfOne: (depth) =>
      once("claim_of_one", [depth], () => `
with c as materialized (
  select x.id from ${receivers}
  cross join lateral (${offered(due, "k.k", "k.at", "k.id", depth)} for no key update skip locked) x
  limit $3::int),${lease(clock(4))}`),

    // And for very many, whose arms would take longer to plan than to run: all that each may offer is sorted.
    claimOfMany: (depth) =>
      once("claim_of_many", [depth], () => `
with heads as materialized (
  select x.id, x.available_at from ${receivers}
  cross join lateral (${offered(due, "k.k", "k.at", "k.id", depth)}) x
  order by x.available_at, x.id),
${locked("heads", due)}`),

    // $3 JSON of delivery ids. A pending one may be taken before it is due.
    claimDeliveries: named("claim_deliveries", named_("id", `(d.status = 'pending' or d.available_at <= ${clock(4)})`)),

    // $3 JSON of event ids.
    claimEvents: named("claim_events", named_("event_id", `d.available_at <= ${clock(4)}`)),

    // $1 id, $2 claimed by, $3 claimed at, $4 worker, $5 lease in ms, $6 now. Waits for whoever has the row at this
    // moment, a renewal or another copy of the message, and looks at the fence again: of two, one finds it unchanged.
    take: named(
      "take",
      `
with u as (
  update ${owed}.deliveries d set
    claimed_by = $4::text, claimed_at = greatest(${clock(6)}, d.claimed_at + interval '1 microsecond'),
    leased_until = ${clock(6)} + $5::float8 * interval '1 millisecond'
  where ${fence("$1::text::bigint", "$2::text", "$3::text::timestamptz")}
  returning d.*)
${leased(clock(6))}`,
    ),
  };
}
