import type { Statement } from "../clients/client.ts";
import { clock, DEBT, dueOf, isMarked, type Schema } from "./shared.ts";

/** What firing needs. */
export interface FireStatements {
  readonly append: Statement;
  readonly appendOne: Statement;
  readonly duplicates: Statement;
  readonly markJoined: Statement;
  readonly retract: Statement;
}

/** The statements of firing over a schema. */
export function fireStatements({ owed, named }: Schema): FireStatements {
  const insertDeliveries = (from: string, now: string): string => `
  insert into ${owed}.deliveries (event_id, receiver_key, target, target_digest, max_attempts, order_key, due_at,
    available_at, owed_since)
  select d.e, d.k, d.t, case when d.t <> '' then sha256(convert_to(d.t, 'UTF8')) end, d.m, d.o,
    ${dueOf("d", now)}, greatest(${dueOf("d", now)}, ${now}), ${now}
  from ${from}`;
  const deliveries = (parameter: number): string => `json_to_recordset($${parameter}::text::json) d(${DEBT})`;
  // A join may give them in any order, and their ids are their place in the queue.
  const deliveriesOf = (events: string, parameter: number): string => `
  rows from (json_to_recordset($${parameter}::text::json) as (${DEBT})) with ordinality d(e, k, t, m, o, d, w, place)
  where d.e in (select id from ${events}) order by d.place`;

  return {
    // Events whose dedupe key is taken write nothing, their deliveries neither; the answer names them alone, and says
    // whether the mark held: without it, it names them all.
    append: named(
      "append",
      `
with e as materialized (
  select * from json_to_recordset($1::text::json) e(id uuid, name text, version int, key text, topic text, payload text,
    occurred_at timestamptz, actor text, actor_label text, scope text, correlation_id text, causation_id text,
    trace text, dedupe_key text, suppressed_reason text, retention_seconds bigint, delete_when text)),
i as (
  insert into ${owed}.events (id, name, version, key, topic, payload, occurred_at, recorded_at, actor, actor_label, scope,
    correlation_id, causation_id, trace, dedupe_key, suppressed_reason, retention_seconds, delete_when)
  select id, name, version, key, topic, payload::json, coalesce(occurred_at, ${clock(3)}), ${clock(3)}, actor,
    actor_label, scope::json, correlation_id, causation_id, trace::json, dedupe_key, suppressed_reason,
    retention_seconds, delete_when
  from e where ${isMarked(4)}
  on conflict (name, dedupe_key) where dedupe_key is not null do nothing returning id),
d as (${insertDeliveries(deliveriesOf("i", 2), clock(3))})
select e.id::text, e.name, e.dedupe_key, (${
        isMarked(4)
      })::text from e where not exists (select from i where i.id = e.id)`,
    ),

    // The common fire: one event without a dedupe key. Plain parameters are cheaper than a JSON text of one. It answers
    // with a row only when the mark did not hold.
    appendOne: named(
      "append_one",
      `
with i as (
  insert into ${owed}.events (id, name, version, key, topic, payload, occurred_at, recorded_at, actor, actor_label, scope,
    correlation_id, causation_id, trace, suppressed_reason, retention_seconds, delete_when)
  select $3::text::uuid, $4::text, $5::int, $6::text, $7::text, $8::text::json,
    coalesce($9::text::timestamptz, ${clock(2)}), ${clock(2)}, $10::text, $11::text, $12::text::json, $13::text,
    $14::text, $15::text::json, $16::text, $17::bigint, $18::text
  where ${isMarked(19)} returning 1),
d as (${insertDeliveries(`${deliveries(1)} where exists (select from i)`, clock(2))})
select 1 where not exists (select from i)`,
    ),

    // A second look, with a snapshot of its own: the row that won may have been invisible to the first.
    duplicates: named(
      "duplicates",
      `
select d.id, e.id::text
from json_to_recordset($1::text::json) d(id text, name text, key text)
join ${owed}.events e on e.name = d.name and e.dedupe_key = d.key`,
    ),

    // $1 mark. It lasts as long as the transaction, or the savepoint that it was set in.
    markJoined: named("mark_joined", `select set_config('owed.joined', $1::text, true)`),

    retract: named(
      "retract",
      `
with e as (
  delete from ${owed}.events
  where id = any(array(select v::uuid from json_array_elements_text($1::text::json) v)) returning id)
delete from ${owed}.deliveries
where event_id = any(array(select v::uuid from json_array_elements_text($1::text::json) v))`,
    ),
  };
}
