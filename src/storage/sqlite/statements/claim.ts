import { part, RECEIVER } from "../shapes.ts";
import { EVENT_ROW, nowOr, type Tables } from "./shared.ts";

/** How candidates are found, and taken. */
export interface ClaimStatements {
  readonly heads: string;
  readonly headsIgnoringBackoff: string;
  readonly claim: (receivers: number) => string;
  readonly claimIgnoringBackoff: (receivers: number) => string;
  readonly claimDeliveries: string;
  readonly claimEvents: string;
  readonly leaseDue: string;
  readonly leaseIgnoringBackoff: string;
  readonly leaseNamed: string;
  readonly eventsById: string;
  readonly take: string;
  readonly eventOfDelivery: string;
}

// What is due: written once, because the claim looks with it and the lease checks it again.
const isDue = (due: string) => `available_at <= ${due}`;
const isDueOrBackingOff = (now: string) =>
  `(available_at <= ${now} or (status = 'failed' and (due_at is null or due_at <= ${now})))`;
const isDueOrPending = (now: string) => `(available_at <= ${now} or status = 'pending')`;
const isFree = (now: string) => `(leased_until is null or leased_until <= ${now})`;

/** The statements of `claim`, `claimOnly` and `take`. */
export function claimStatements({ events, deliveries }: Tables): ClaimStatements {
  const head = (receiver: string, due: (now: string) => string) => `
      completed_at is null and receiver_key = ${part(receiver, RECEIVER, "key")}
      and (available_at, id) >= (${part(receiver, RECEIVER, "at")}, ${part(receiver, RECEIVER, "id")})
      and ${due(nowOr(2))} and ${isFree(nowOr(2))}
      order by available_at, id`;

  // The receivers that have anything to claim, the oldest first: for those who list so many that preparing an arm of
  // `claim` for each would cost more than finding out.
  const heads = (due: (now: string) => string) => `
    with heads as materialized (
      select k.key, (select available_at from ${deliveries} where ${head("k.value", due)} limit 1) as head
      from json_each(?1) k)
    select key as row from heads where head is not null order by head limit ?3`;

  // The heads of each receiver's queue, merged: an arm per receiver walks the owed index of that receiver in order,
  // and the arms are merged as they go (MERGE in the plan), so about as many rows are visited as are returned, and
  // neither settled rows nor the rest of a flood. Nothing is locked: `lease` decides who gets them.
  const claim = (due: (now: string) => string) => (receivers: number) => `
    select json_array(cast(id as text), event_id, receiver) as row from (${
    Array.from({ length: receivers }, (_, i) => `
      select * from (select available_at, id, event_id, ${i} as receiver from ${deliveries}
      where ${head(`(?1 ->> ${i})`, due)})`).join(" union all ")
  } order by available_at, id limit ?3)`;

  // The named rows, through the primary key or the unique index by event.
  const claimNamed = (which: string, due: (now: string) => string) => `
    select json_array(cast(d.id as text), d.event_id, k.key) as row
    from json_each(?3) n cross join ${deliveries} d on ${which}
      cross join json_each(?1) k on ${part("k.value", RECEIVER, "key")} = d.receiver_key
    where d.completed_at is null and ${due(nowOr(2))} and ${isFree(nowOr(2))}
    order by d.available_at, d.id`;

  const leased = (now: string) => `
    returning json_array(cast(id as text), event_id, receiver_key, target, attempts, max_attempts, lapses,
      cast(claimed_at as text), cast(available_at as text), cast(due_at as text), cast(owed_since as text),
      cast(${now} as text)) as row`;

  // The guarded write that makes a claim: every condition again, since another process may have been quicker between
  // the look and this. Whoever comes second updates nothing. `claimed_at` rises under a frozen clock too; a lease that
  // is taken over is counted. The lease columns are in no index. NOT INDEXED leaves the primary key alone: without it the
  // planner may walk the whole index of owed rows, since it knows neither how long the list is nor how many are owed.
  const lease = (due: (now: string) => string) => `
    update ${deliveries} not indexed set claimed_by = ?3, claimed_at = max(${nowOr(2)}, coalesce(claimed_at, 0) + 1),
      lapses = lapses + (leased_until is not null), leased_until = ${nowOr(2)} + ?4
    where id in (select value from json_each(?1))
      and completed_at is null and ${due(nowOr(2))} and ${isFree(nowOr(2))}${leased(nowOr(2))}`;

  return {
    heads: heads((now) => isDue(`${now} - ?4`)),
    headsIgnoringBackoff: heads((now) => `${isDueOrBackingOff(now)} and ?4 = 0`),
    claim: claim((now) => isDue(`${now} - ?4`)),
    // Walks past its own due bound, over failed rows that are still backing off: for drains and tests.
    claimIgnoringBackoff: claim((now) => `${isDueOrBackingOff(now)} and ?4 = 0`),
    claimDeliveries: claimNamed("d.id = n.value", isDueOrPending),
    claimEvents: claimNamed("d.event_id = n.value", isDue),
    leaseDue: lease((now) => isDue(`${now} - ?5`)),
    leaseIgnoringBackoff: lease(isDueOrBackingOff),
    leaseNamed: lease(isDueOrPending),

    // Each event once, however many of its debts were claimed: the payload is what is large.
    eventsById: `select ${EVENT_ROW} from ${events} where id in (select value from json_each(?1))`,

    // Under exactly this claim, whether its lease has lapsed or not: of two copies of a message, one finds it unchanged.
    take: `
    update ${deliveries} not indexed set claimed_by = ?4, claimed_at = max(${nowOr(6)}, claimed_at + 1),
      leased_until = ${nowOr(6)} + ?5
    where id = ?1 and claimed_by = ?2 and claimed_at = ?3 and completed_at is null
      and leased_until is not null${leased(nowOr(6))}`,
    eventOfDelivery: `
    select ${EVENT_ROW} from ${events} where id = (select event_id from ${deliveries} where id = ?1)`,
  };
}
