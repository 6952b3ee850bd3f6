import { acknowledgeCases } from "./acknowledge.ts";
import { afterCommitCases } from "./after_commit.ts";
import { contextCases } from "./context.ts";
import { decodingCases } from "./decoding.ts";
import { dedupeCases } from "./dedupe.ts";
import { deferralCases } from "./deferrals.ts";
import { deliverOneCases } from "./deliver_one.ts";
import { deliverPendingCases, withinCases } from "./deliver_pending.ts";
import { dueCases } from "./due.ts";
import { eagerCases } from "./eager.ts";
import { errorCases } from "./errors.ts";
import { failureLogCases } from "./failure_log.ts";
import { firingCases } from "./firing.ts";
import type { Cases } from "./given.ts";
import { inlineCases } from "./inline.ts";
import { joiningCases } from "./joining.ts";
import { laneCases } from "./lanes.ts";
import { lazyCases } from "./lazy.ts";
import { leaseCases } from "./leases.ts";
import { notYetCases } from "./not_yet.ts";
import { onCommitCases } from "./on_commit.ts";
import { orderCases } from "./order.ts";
import { orphanCases } from "./orphans.ts";
import { outcomeCases } from "./outcomes.ts";
import { outsideCases } from "./outside.ts";
import { ownTransactionCases } from "./own_transaction.ts";
import { pauseCases } from "./pauses.ts";
import { payloadCases } from "./payloads.ts";
import { relayCases } from "./relay.ts";
import { replayCases } from "./replay.ts";
import { retentionCases } from "./retention.ts";
import { roundTripCases } from "./round_trips.ts";
import { savepointCases } from "./savepoints.ts";
import { schemaCases } from "./schemas.ts";
import { causationCases, scopeCases } from "./scope.ts";
import { settledCases } from "./settled.ts";
import { signalCases } from "./signals.ts";
import { suppressionCases } from "./suppression.ts";
import { anyEventCases, targetCases } from "./targets.ts";
import { aroundCases } from "./around.ts";
import { onFailureCases } from "./on_failure.ts";
import { taskSiteCases } from "./task_site.ts";
import { assertFiredCases, drainCases } from "./testing.ts";
import { thrownCases } from "./thrown.ts";
import { processCases } from "./processes.ts";
import { timeoutCases } from "./timeouts.ts";
import { twoDatabaseCases } from "./two_databases.ts";
import { unawaitedCases } from "./unawaited.ts";

/** Every case, by topic. */
export const topics: Readonly<Record<string, Cases>> = {
  firing: firingCases,
  savepoints: savepointCases,
  payloads: payloadCases,
  schemas: schemaCases,
  dedupe: dedupeCases,
  "fires that nobody awaited": unawaitedCases,
  "firing outside a transaction": outsideCases,
  joining: joiningCases,
  signals: signalCases,
  targets: targetCases,
  anyEvent: anyEventCases,
  "the scope": scopeCases,
  causation: causationCases,
  suppression: suppressionCases,
  retention: retentionCases,
  replay: replayCases,
  settled: settledCases,
  "two databases": twoDatabaseCases,
  "round trips": roundTripCases,
  "several processes": processCases,
  "lazy receivers": lazyCases,
  "inline receivers": inlineCases,
  "on-commit receivers": onCommitCases,
  "eager receivers": eagerCases,
  "after the commit": afterCommitCases,
  outcomes: outcomeCases,
  "what a receiver throws": thrownCases,
  deferrals: deferralCases,
  pauses: pauseCases,
  lanes: laneCases,
  due: dueCases,
  "not yet": notYetCases,
  order: orderCases,
  "the last error": errorCases,
  decoding: decodingCases,
  orphans: orphanCases,
  "the context": contextCases,
  "ctx.transaction": ownTransactionCases,
  "ctx.acknowledge": acknowledgeCases,
  leases: leaseCases,
  timeouts: timeoutCases,
  deliverPending: deliverPendingCases,
  "deliverPending in a transaction": withinCases,
  deliverOne: deliverOneCases,
  drainOutbox: drainCases,
  assertFired: assertFiredCases,
  "the relay": relayCases,
  "the failure log": failureLogCases,
  onFailure: onFailureCases,
  aroundDelivery: aroundCases,
  "site task": taskSiteCases,
};
