import { EVENT_ROW, nowOr, type Tables } from "./shared.ts";

/** What is asked about the rows, and who lists which receivers. */
export interface LookStatements {
  readonly nextDue: string;
  readonly strangers: string;
  readonly announce: string;
  readonly health: string;
  readonly findEvents: (by: { readonly name: boolean; readonly ids: boolean }) => string;
  readonly findDeliveries: (
    by: { readonly eventId: boolean; readonly receiverKey: boolean; readonly deliveryId: boolean },
  ) => string;
}

/** The statements of `nextDue`, `strangers`, `announce`, `health` and the two `find`s. */
export function lookStatements({ events, deliveries, receivers, owedIndex, endedIndex }: Tables): LookStatements {
  return {
    // Per receiver: the first thousand of what is past its moment (under leases, mostly: those are few, or something
    // is free), and the first that is not.
    nextDue: `
    select cast(max(0, min(at) - ${nowOr(2)}) as text) as row from (
      select (select min(coalesce(leased_until, available_at)) from (
          select leased_until, available_at from ${deliveries}
          where completed_at is null and receiver_key = k.value and available_at <= ${nowOr(2)}
          order by available_at, id limit 1000)) as at
      from json_each(?1) k
      union all
      select (select max(available_at, coalesce(leased_until, 0)) from ${deliveries}
        where completed_at is null and receiver_key = k.value and available_at > ${nowOr(2)}
        order by available_at, id limit 1)
      from json_each(?1) k) where at is not null`,
    // A loose scan: one step per receiver key that has anything owed. The oldest row of a key decides.
    strangers: `
    with recursive keys (key) as (
      select min(receiver_key) from ${deliveries} where completed_at is null
      union all
      select (select min(receiver_key) from ${deliveries} where completed_at is null and receiver_key > keys.key)
      from keys where keys.key is not null)
    select key as row from keys
    where key is not null and key not in (select value from json_each(?1))
      and exists (select 1 from ${deliveries} where completed_at is null and receiver_key = key
        and available_at <= ${nowOr(2)} - ?3)
      and not exists (select 1 from ${receivers} where receiver_key = key and last_seen > ${nowOr(2)} - ?3)`,
    announce: `
    insert into ${receivers} (receiver_key, app, release, last_seen)
    select value, ?3, ?4, ${nowOr(2)} from json_each(?1) where true
    on conflict (receiver_key, app)
      do update set release = excluded.release, last_seen = max(last_seen, excluded.last_seen)`,

    // Owed rows through their partial index, dead and orphaned ones through theirs: succeeded rows are not touched. A
    // scheduled row counts from when it was due.
    health: `
    with counted as (
      select receiver_key, (due_at is null or due_at <= ${nowOr(1)}) as counts, leased_until,
        max(owed_since, coalesce(due_at, owed_since)) as since
      from ${deliveries} indexed by ${owedIndex} where completed_at is null),
    parts (key, owed, scheduled, claimed, lapsed, dead, orphaned, oldest) as (
      select receiver_key, sum(counts), sum(not counts), sum(leased_until > ${nowOr(1)}),
        sum(leased_until <= ${nowOr(1)}), 0, 0, min(case when counts then since end)
      from counted group by receiver_key
      union all
      select receiver_key, 0, 0, 0, 0, sum(status = 'dead'), sum(status = 'orphaned'), null
      from ${deliveries} indexed by ${endedIndex}
      where status in ('dead', 'orphaned', 'cancelled') group by receiver_key)
    select json_object('key', key, 'owed', sum(owed), 'scheduled', sum(scheduled), 'claimed', coalesce(sum(claimed), 0),
      'lapsed', coalesce(sum(lapsed), 0), 'dead', sum(dead), 'orphaned', sum(orphaned),
      'oldestOwedSince', cast(min(oldest) as text)) as row
    from parts group by key having sum(owed) + sum(scheduled) + sum(dead) + sum(orphaned) > 0
    order by sum(owed) desc, sum(dead) desc, key`,
    // In the order of insertion, which is that of the rowid. A condition that is not given is not in the text: one that
    // allows for null would keep the planner from every index.
    findEvents: (by) => `
    select ${EVENT_ROW} from ${events}
    where ${by.name ? "name = ?1" : "?1 is null"}
      and ${by.ids ? "id in (select value from json_each(?2))" : "?2 is null"}
    order by rowid`,
    // `claimed` is derived: owed, and under a live lease. The moment of a claim that a replay has undone is kept for the
    // next one alone.
    findDeliveries: (by) => `
    select json_object('id', cast(id as text), 'eventId', event_id, 'receiverKey', receiver_key, 'target', target,
      'status', case when completed_at is null and leased_until > ${nowOr(4)} then 'claimed' else status end,
      'attempts', attempts, 'maxAttempts', max_attempts, 'lapses', lapses,
      'availableAt', cast(available_at as text), 'dueAt', cast(due_at as text),
      'owedSince', cast(owed_since as text), 'claimedBy', claimed_by, 'claimedAt', cast(iif(claimed_by is null, null, claimed_at) as text),
      'leasedUntil', cast(leased_until as text), 'completedAt', cast(completed_at as text),
      'lastError', last_error) as row
    from ${deliveries}
    where ${by.eventId ? "event_id = ?1" : "?1 is null"} and ${by.receiverKey ? "receiver_key = ?2" : "?2 is null"}
      and ${by.deliveryId ? "id = cast(?3 as integer)" : "?3 is null"}
    order by id`,
  };
}
