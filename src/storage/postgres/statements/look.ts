import type { Statement } from "../clients/client.ts";
import { sent } from "../rows.ts";
import { clock, EVENT, type Schema } from "./shared.ts";

/** What only looks, and says who looks. */
export interface LookStatements {
  readonly nextDue: Statement;
  readonly strangers: Statement;
  readonly announce: Statement;
  readonly health: Statement;
  readonly findEvents: Statement;
  readonly findDeliveries: Statement;
}

/** The statements that look at a schema. */
export function lookStatements({ owed, named }: Schema): LookStatements {
  const head = `
     select d.id, d.available_at, d.leased_until from ${owed}.deliveries d
     where d.receiver_key = k.k and d.completed_at is null
     order by d.available_at, d.id limit 256`;

  return {
    // $1 JSON of receivers, $2 now. The first row without a lease; the first lease to lapse among the head's; and one
    // that has lapsed, unless it is locked. Locked it is with the transaction of its receiver, for as long as that takes:
    // no claim gets it, and whoever took it for due would ask without end. FOR SHARE is the weakest lock that such a row
    // does not grant; rows that have lapsed are few, and one is enough.
    nextDue: named(
      "next_due",
      `
select ceil(extract(epoch from min(x.at) - ${clock(2)}) * 1000)::text
from unnest(array(select json_array_elements_text($1::text::json))) k(k)
cross join lateral (
  (select d.available_at as at from ${owed}.deliveries d
   where d.receiver_key = k.k and d.completed_at is null and d.leased_until is null
   order by d.available_at, d.id limit 1)
  union all
  (select min(greatest(d.available_at, d.leased_until)) from (${head}) d
   where greatest(d.available_at, d.leased_until) > ${clock(2)})
  union all
  (select x.at from (${head}) d cross join lateral (
     select ${clock(2)} as at from ${owed}.deliveries l
     where l.id = d.id and l.leased_until = d.leased_until and greatest(d.available_at, d.leased_until) <= ${clock(2)}
     for share skip locked) x
   limit 1)) x`,
    ),

    // $1 JSON of known keys, $2 grace in ms, $3 now. From one key to the next by the index: one probe per distinct key.
    strangers: named(
      "strangers",
      `
with recursive k as (
  (select d.receiver_key, d.available_at from ${owed}.deliveries d where d.completed_at is null
   order by d.receiver_key, d.available_at, d.id limit 1)
  union all
  select n.* from k cross join lateral (
    select d.receiver_key, d.available_at from ${owed}.deliveries d
    where d.completed_at is null and d.receiver_key > k.receiver_key
    order by d.receiver_key, d.available_at, d.id limit 1) n)
select k.receiver_key from k
where k.receiver_key <> all(array(select json_array_elements_text($1::text::json)))
  and k.available_at <= ${clock(3)} - $2::float8 * interval '1 millisecond'
  and not exists (
    select from ${owed}.receivers r where r.receiver_key = k.receiver_key
      and r.last_seen > ${clock(3)} - $2::float8 * interval '1 millisecond')
order by 1`,
    ),

    // $1 JSON of keys, $2 app, $3 release, $4 now. In the order of the keys, so that two processes cannot deadlock.
    announce: named(
      "announce",
      `
insert into ${owed}.receivers (receiver_key, app, release, last_seen)
select distinct k, $2::text, $3::text, ${clock(4)} from json_array_elements_text($1::text::json) k order by k
on conflict (receiver_key, app) do update set release = excluded.release, last_seen = excluded.last_seen`,
    ),

    // $1 now. Two passes, each over its own partial index; settled rows are in neither.
    health: named(
      "health",
      `
with owed as (
  select d.receiver_key,
    count(*) filter (where not later) as owed, count(*) filter (where later) as scheduled,
    count(*) filter (where d.leased_until > ${clock(1)}) as claimed,
    count(*) filter (where d.leased_until <= ${clock(1)}) as lapsed,
    min(greatest(d.owed_since, d.due_at)) filter (where not later) as oldest
  from (select d.*, coalesce(d.due_at > ${clock(1)}, false) as later from ${owed}.deliveries d
        where d.completed_at is null) d
  group by d.receiver_key),
ended as (
  select d.receiver_key, count(*) filter (where d.status = 'dead') as dead,
    count(*) filter (where d.status = 'orphaned') as orphaned
  from ${owed}.deliveries d where d.completed_at is not null group by d.receiver_key)
select receiver_key, coalesce(owed.owed, 0)::text, coalesce(scheduled, 0)::text, coalesce(claimed, 0)::text,
  coalesce(lapsed, 0)::text, coalesce(dead, 0)::text, coalesce(orphaned, 0)::text, ${sent("oldest")}
from owed full join ended using (receiver_key)
where coalesce(owed.owed, 0) + coalesce(scheduled, 0) + coalesce(dead, 0) + coalesce(orphaned, 0) > 0
order by coalesce(owed.owed, 0) desc, coalesce(dead, 0) desc, receiver_key`,
    ),

    // $1 name, $2 JSON of ids. Sent unprepared: the planner drops the half that is null.
    findEvents: named(
      "find_events",
      `
select ${EVENT} from ${owed}.events e
where ($1::text is null or e.name = $1::text)
  and ($2::text is null or e.id = any(array(select v::uuid from json_array_elements_text($2::text::json) v)))
order by e.recorded_at, e.id`,
    ),

    // $1 event, $2 receiver, $3 delivery, $4 now. Over the view, whose status is recomputed for the test's clock. The
    // moment of a claim that a replay has undone is kept for the next one alone.
    findDeliveries: named(
      "find_deliveries",
      `
select d.id::text, d.event_id::text, d.receiver_key, d.target,
  case when d.completed_at is null and d.leased_until > ${clock(4)} then 'claimed' else d.stored_status end,
  d.attempts, d.max_attempts, d.lapses, ${sent("d.available_at")}, ${sent("d.due_at")}, ${sent("d.owed_since")},
  d.claimed_by, case when d.claimed_by is not null then ${sent("d.claimed_at")} end, ${sent("d.leased_until")}, ${
        sent("d.completed_at")
      }, d.last_error
from ${owed}.every_delivery d
where ($1::text is null or d.event_id = $1::text::uuid) and ($2::text is null or d.receiver_key = $2::text)
  and ($3::text is null or d.id = $3::text::bigint)
order by d.id`,
    ),
  };
}
