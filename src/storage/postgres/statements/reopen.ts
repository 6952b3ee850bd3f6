import type { Statement } from "../clients/client.ts";
import { clock, DEBT, dueOf, type Schema } from "./shared.ts";

/** What makes settled deliveries owed again. */
export interface ReopenStatements {
  readonly lockEvents: Statement;
  readonly reopen: Statement;
}

/** The statements of `reopen` over a schema. */
export function reopenStatements({ owed, named }: Schema): ReopenStatements {
  const now = clock(2);

  // A settled row's columns, afresh. `claimed_at` stays, unseen behind a `claimed_by` that is null: the next claim must
  // rise above it, or a settlement of the last one that is late could pass for its own.
  const afresh = `status = 'pending', attempts = 0, lapses = 0, max_attempts = m.m, order_key = m.o, last_error = null,
    due_at = m.u, available_at = greatest(m.u, ${now}), owed_since = ${now}, claimed_by = null, leased_until = null,
    completed_at = null`;

  return {
    // $1 JSON of ids. Always in this order, so that two cannot wait for each other. Who holds these locks adds
    // deliveries to these events alone, and nobody deletes the events; claims and outcomes need no lock of an event.
    lockEvents: named(
      "lock_events",
      `
select e.id::text from ${owed}.events e
where e.id = any(array(select v::uuid from json_array_elements_text($1::text::json) v))
order by e.id for no key update`,
    ),

    // $1 JSON of what is wanted, $2 now. Sent after the locks, so that its snapshot has all that was committed before:
    // in it each delivery is owed, or ended, or past, or is not there, and what a claim makes of an owed one meanwhile
    // is as if it had come after. The deliveries of an event are read once through its indexes and matched by digest in
    // memory; target by target, a fan-out's history would be read as often as it has targets. Ended rows are looked at
    // again under their locks, by status: for `completed_at is not null` the planner may walk all that ever ended.
    reopen: named(
      "reopen",
      `
with w as materialized (
  select w.e, w.k, w.t, case when w.t <> '' then sha256(convert_to(w.t, 'UTF8')) else ''::bytea end as g, w.m, w.o,
    ${dueOf("w", now)} as u, w.place
  from rows from (json_to_recordset($1::text::json) as (${DEBT})) with ordinality w(e, k, t, m, o, d, w, place)),
there as materialized (
  select distinct on (e, k, g) * from (
    select d.id, d.event_id as e, d.receiver_key as k, coalesce(d.target_digest, ''::bytea) as g,
      case when d.completed_at is null then 'owed' else 'ended' end as state
    from ${owed}.deliveries d where d.event_id = any(array(select distinct w.e from w))
    union all
    select h.id, h.event_id, h.receiver_key, coalesce(h.target_digest, ''::bytea), 'past'
    from ${owed}.history h where h.event_id = any(array(select distinct w.e from w))) t
  order by e, k, g, state, id desc),
m as materialized (select w.*, t.id, t.state from w left join there t on t.e = w.e and t.k = w.k and t.g = w.g),
ended as materialized (
  select d.id from ${owed}.deliveries d
  where d.id = any(array(select m.id from m where m.state = 'ended')) and d.status in ('dead', 'orphaned', 'cancelled')
  order by d.id for no key update),
reopened as (
  update ${owed}.deliveries d set ${afresh}
  from m where m.id = d.id and d.id = any(array(select id from ended)) returning 1),
gone as (
  delete from ${owed}.history h where h.id = any(array(select m.id from m where m.state = 'past')) returning h.*),
moved as (
  insert into ${owed}.deliveries (id, event_id, receiver_key, target, target_digest, max_attempts, order_key, due_at,
    available_at, owed_since, claimed_at)
  overriding system value
  select h.id, h.event_id, h.receiver_key, h.target, h.target_digest, m.m, m.o, m.u, greatest(m.u, ${now}), ${now},
    h.claimed_at
  from gone h join m on m.id = h.id returning 1),
remembered as (
  insert into ${owed}.receiver_successes as s (receiver_key, last_succeeded_at)
  select receiver_key, max(succeeded_at) from gone group by receiver_key order by receiver_key
  on conflict (receiver_key) do update set
    last_succeeded_at = greatest(s.last_succeeded_at, excluded.last_succeeded_at)),
added as (
  insert into ${owed}.deliveries (event_id, receiver_key, target, target_digest, max_attempts, order_key, due_at,
    available_at, owed_since)
  select m.e, m.k, m.t, nullif(m.g, ''::bytea), m.m, m.o, m.u, greatest(m.u, ${now}), ${now}
  from m where m.id is null order by m.place
  on conflict do nothing returning 1)
select ((select count(*) from reopened) + (select count(*) from moved))::int, (select count(*) from added)::int`,
    ),
  };
}
