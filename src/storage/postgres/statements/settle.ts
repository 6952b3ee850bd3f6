import type { Statement } from "../clients/client.ts";
import { sent } from "../rows.ts";
import { clock, fence, type Schema } from "./shared.ts";

/** What a settled row takes along to `history`. */
const KEPT = `id, event_id, available_at, owed_since, claimed_at, due_at, max_attempts, lapses, receiver_key, target,
    target_digest, order_key, claimed_by, last_error`;

/** What outcomes and leases need. */
export interface SettleStatements {
  readonly succeed: Statement;
  readonly settle: Statement;
  readonly classify: Statement;
  readonly openAcknowledgement: Statement;
  readonly lockFence: Statement;
  readonly succeedWithin: Statement;
  readonly settleWithin: Statement;
  readonly cancel: Statement;
  readonly terminate: Statement;
  readonly renew: Statement;
  readonly releaseUnknown: Statement;
}

/** The statements of outcomes and leases over a schema. */
export function settleStatements({ owed, named }: Schema): SettleStatements {
  const session = `from pg_stat_activity where pid = $1::int and ${sent("xact_start")} = $2::text`;

  /** Sets a timeout for this transaction, unless a shorter one is set. It is shown with its unit, and 0 is none. */
  const limited = (name: string, parameter: number): string => {
    const set = `current_setting('${name}')`;
    return `set_config('${name}', case when ${set}::interval > interval '0'
    and ${set}::interval < $${parameter}::text::float8 * interval '1 millisecond' then ${set} else $${parameter}::text end, true)`;
  };

  const settlements = `json_to_recordset($1::text::json)
    s(i bigint, w text, c timestamptz, st text, n int, ms float8, du timestamptz, err text, f boolean)`;

  // $1 JSON [{i: id, w: claimed by, c: claimed at, st: status, n: attempts, ms: delay, du: due, err, f: ends it}], $2 now.
  const settleOf = (locked: string, stamp: string): string => `
with s as materialized (select * from ${settlements}),
f as materialized (
  select s.* from s cross join lateral (
    select 1 from ${owed}.deliveries d where ${fence("s.i", "s.w", "s.c")} limit 1 for no key update${locked}) d),
won as (
  delete from ${owed}.deliveries d where d.id = any(array(select i from f where st = 'succeeded')) returning d.*),
kept as (
  insert into ${owed}.history (${KEPT}, attempts, succeeded_at)
  select ${KEPT}, attempts + 1, ${stamp} from won returning id),
rest as (
  update ${owed}.deliveries d set
    status = coalesce(f.st, d.status), attempts = d.attempts + f.n, leased_until = null,
    available_at = coalesce(f.du, ${clock(2)} + f.ms * interval '1 millisecond', d.available_at),
    due_at = coalesce(f.du, d.due_at),
    completed_at = case when f.f then ${stamp} end, last_error = coalesce(f.err, d.last_error)
  from f where f.st is distinct from 'succeeded' and d.id = f.i returning d.id)
select i::text from (select i from s except (select id from kept union all select id from rest)) missed`;

  return {
    // $1 JSON [{w: claimed by, c: claimed at, i: [ids]}], $2 now. Only successes, which are nearly all that a relay
    // records: the rows of one claim share its fence, so ids are all that is sent for each, and they are locked by one
    // scan. Deleted by where they are; one whose version is newer than this statement's snapshot is left out, like one
    // that is locked, and sent again.
    succeed: named(
      "succeed",
      `
with g as materialized (select * from json_to_recordset($1::text::json) g(w text, c timestamptz, i json)),
f as materialized (
  select x.at from g cross join lateral (
    select d.ctid as at from ${owed}.deliveries d
    where d.id = any(array(select v::bigint from json_array_elements_text(g.i) v)) and d.claimed_by = g.w
      and d.claimed_at = g.c and d.completed_at is null and d.leased_until is not null
    for no key update skip locked) x),
won as (delete from ${owed}.deliveries d where d.ctid = any(array(select at from f)) returning d.*),
kept as (
  insert into ${owed}.history (${KEPT}, attempts, succeeded_at)
  select ${KEPT}, attempts + 1, ${clock(2)} from won returning id)
select v from g cross join lateral json_array_elements_text(g.i) v
where not v::bigint = any(array(select id from kept))`,
    ),

    // Never waits: a row that is locked is left out, and told apart by `classify`. Successes leave for `history` in
    // the same statement, so that the table in which claims look stays small.
    settle: named("settle", settleOf(" skip locked", clock(2))),

    // Why settlements were not applied. A claim's columns outlive it, so its own settlement can be told from a theft.
    classify: named(
      "classify",
      `
select s.i::text, case
  when d.id is not null then case
    when d.claimed_by is distinct from s.w or d.claimed_at is distinct from s.c then 'lost'
    when d.completed_at is null and d.leased_until is not null then 'busy'
    else 'already' end
  when h.id is not null then case when h.claimed_by = s.w and h.claimed_at = s.c then 'already' else 'lost' end
  else 'gone' end
from ${settlements}
left join lateral (select * from ${owed}.deliveries d where d.id = s.i limit 1) d on true
left join lateral (select * from ${owed}.history h where h.id = s.i order by h.succeeded_at desc limit 1) h on true`,
    ),

    // $1 id, $2 claimed by, $3 claimed at, $4 milliseconds. Held to the end of the transaction, the lock is the lease:
    // claims and renewals pass it by, even when the lease has lapsed. A session that hangs, or whose process is frozen,
    // must not keep its row for ever; a shorter limit that the user has set stays. The backend and the transaction's
    // start name it, should it have to be ended.
    openAcknowledgement: named(
      "open_acknowledgement",
      `
select pg_backend_pid(), ${sent("now()")},
  ${limited("idle_in_transaction_session_timeout", 4)},
  ${limited("statement_timeout", 4)}
from (
  select 1 from ${owed}.deliveries d
  where ${fence("$1::text::bigint", "$2::text", "$3::text::timestamptz")} for no key update) held`,
    ),

    // The same lock within a transaction of somebody else's, whose settings are not ours to touch.
    lockFence: named(
      "lock_fence",
      `
select 1 from ${owed}.deliveries d
where ${fence("$1::text::bigint", "$2::text", "$3::text::timestamptz")} for no key update`,
    ),

    // The last statement before COMMIT, sent together with it: it raises (22012) unless it moved the row, so that a
    // commit behind it cannot pass.
    succeedWithin: named(
      "succeed_within",
      `
with won as (
  delete from ${owed}.deliveries d where ${
        fence("$1::text::bigint", "$2::text", "$3::text::timestamptz")
      } returning d.*),
kept as (
  insert into ${owed}.history (${KEPT}, attempts, succeeded_at)
  select ${KEPT}, attempts + 1, clock_timestamp() from won returning id)
select 1 / count(*)::int from kept`,
    ),

    // In a transaction that somebody else opened: it may wait for the row, and its own last stamp is the clock's.
    settleWithin: named("settle_within", settleOf("", "clock_timestamp()")),

    // $1 backend, $2 start of its transaction: the backend may serve somebody else by now.
    cancel: named("cancel", `select pg_cancel_backend(pid)::text ${session}`),
    terminate: named("terminate", `select pg_terminate_backend(pid)::text ${session}`),

    // $1 JSON [{i, w, c, ms, p}], $2 now. A row that is locked is its own receiver's, or nobody's business. A lease only
    // grows: a claim that a test made for later must not come free by it. One that is not parked keeps its place: the
    // value stays what it was, and the update within the page.
    renew: named(
      "renew",
      `
with r as materialized (
  select * from json_to_recordset($1::text::json) r(i bigint, w text, c timestamptz, ms float8, p boolean)),
l as materialized (
  select r.i, r.p, greatest(d.leased_until, ${clock(2)} + r.ms * interval '1 millisecond') as until
  from r cross join lateral (
    select d.leased_until from ${owed}.deliveries d where ${
        fence("r.i", "r.w", "r.c")
      } limit 1 for no key update skip locked) d)
update ${owed}.deliveries d set leased_until = l.until, available_at = case when l.p then l.until else d.available_at end
from l where d.id = l.i returning d.id::text`,
    ),

    // $1 worker, $2 JSON of the ids that it knows. Rare: after a connection was lost. What it has handed over, and is
    // parked since, it does not know either, and still it is not its to give back. The claim is wiped out: whoever holds
    // it after all, and settles under it, must be told that it is lost, not that it is settled already.
    releaseUnknown: named(
      "release_unknown",
      `
with l as materialized (
  select d.id from ${owed}.deliveries d
  where d.completed_at is null and d.leased_until is not null and d.claimed_by = $1::text
    and d.available_at <= d.claimed_at
    and d.id <> all(array(select v::bigint from json_array_elements_text($2::text::json) v))
  for no key update skip locked)
update ${owed}.deliveries d set leased_until = null, claimed_by = null
where d.id = any(array(select id from l)) returning 1`,
    ),
  };
}
