import { FENCE, part, RENEWAL, SETTLEMENT } from "../shapes.ts";
import { nowOr, type Tables } from "./shared.ts";

/** What the holder of a claim may do with it. */
export interface SettleStatements {
  readonly settleSucceeded: string;
  readonly settle: string;
  readonly classify: string;
  readonly lockFence: string;
  readonly renew: string;
  readonly releaseUnknown: string;
}

/** The statements of `settle`, `acknowledge`, `renew` and `releaseUnknown`. */
export function settleStatements({ deliveries, owedIndex }: Tables): SettleStatements {
  // As `claimKey` has it: a row may be named under two claims at once, of which one holds.
  const claim = "cast(id as text) || ' ' || claimed_at as row";
  const settled = (name: typeof SETTLEMENT[number]) => part("s.value", SETTLEMENT, name);
  const held = (name: typeof FENCE[number]) => part("value", FENCE, name);
  const renewed = (name: typeof RENEWAL[number]) => part("r.value", RENEWAL, name);

  return {
    // The fence is (claimed_by, claimed_at) under a lease: cleared, it was settled or handed back already. The fence
    // does not look at when the lease ends. What succeeded, nearly all, goes the quickest way.
    settleSucceeded: `
    update ${deliveries} not indexed set status = 'succeeded', attempts = attempts + 1, completed_at = ${nowOr(2)},
      leased_until = null
    where (id, claimed_at, claimed_by) in (
        select ${held("id")}, ${held("claimedAt")}, ${held("claimedBy")} from json_each(?1))
      and completed_at is null and leased_until is not null
    returning ${claim}`,
    // All other outcomes. A delay is added to this database's clock, so that no relay's enters.
    settle: `
    update ${deliveries} as d not indexed set status = coalesce(${settled("status")}, status),
      attempts = attempts + (${settled("attempts")}),
      available_at = coalesce(${settled("dueAt")}, ${nowOr(2)} + (${settled("delay")}), available_at),
      due_at = coalesce(${settled("dueAt")}, due_at),
      completed_at = case when ${settled("completes")} then ${nowOr(2)} end,
      last_error = coalesce(${settled("error")}, last_error), leased_until = null
    from json_each(?1) s
    where d.id = ${settled("id")} and claimed_at = ${settled("claimedAt")} and claimed_by = ${settled("claimedBy")}
      and completed_at is null and leased_until is not null
    returning ${claim}`,
    // For what `settle` did not return, normally nothing: no row, the same claim (its first answer was lost on the
    // way), or somebody else's.
    classify: `
    select json_array(cast(id as text), claimed_by, cast(claimed_at as text)) as row
    from ${deliveries} where id in (select value from json_each(?1))`,
    // No row lock here: the transaction has the whole file.
    lockFence: `
    select 'held' as row from ${deliveries} where id = ?1 and claimed_by = ?2 and claimed_at = ?3
      and completed_at is null and leased_until is not null`,

    // Also sent along with every commit of this process, see leases.ts. A lease only grows: a claim that a test made for
    // later must not come free by it. What is not parked keeps its place.
    renew: `
    update ${deliveries} as d not indexed set
      leased_until = max(leased_until, ${nowOr(2)} + (${renewed("lease")})),
      available_at = case when ${renewed("parked")} then max(leased_until, ${nowOr(2)} + (${renewed("lease")}))
        else available_at end
    from json_each(?1) r
    where d.id = ${renewed("id")} and claimed_at = ${renewed("claimedAt")} and claimed_by = ${renewed("claimedBy")}
      and completed_at is null and leased_until is not null
    returning ${claim}`,
    // Through the index of owed rows, so that settled ones are not scanned. What the worker has handed over, and is parked
    // since, it does not know either, and still it is not its to give back. The claim is wiped out: whoever holds it after
    // all, and settles under it, must be told that it is lost, not that it is settled already.
    releaseUnknown: `
    update ${deliveries} set leased_until = null, claimed_by = null where id in (
      select id from ${deliveries} indexed by ${owedIndex}
      where completed_at is null and claimed_by = ?1 and leased_until is not null and available_at <= claimed_at)
      and id not in (select value from json_each(?2))
    returning cast(id as text) as row`,
  };
}
