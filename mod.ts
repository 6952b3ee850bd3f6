/**
 * owed: a transactional outbox and domain events. `fire` writes an event and one debt per receiver in the caller's own
 * transaction; a relay pays every debt at least once, and effectively once when the work is in the same database.
 *
 * ```ts
 * import { createClient } from "@libsql/client";
 * import { createOutbox, type DeliveryContext, deliverPending, event, fire, receiver } from "@owed/outbox";
 * import { libsqlStorage } from "@owed/outbox/libsql";
 *
 * const OrderPlaced = event<{ orderId: number; total: string }>("orders.placed", { version: 1 });
 *
 * const emailReceipt = receiver(OrderPlaced, "email.receipt", (order, ctx) => {
 *   console.log(`attempt ${ctx.attempt}: receipt of ${order.total} for order ${order.orderId}`);
 * });
 *
 * await using outbox = createOutbox({
 *   storage: libsqlStorage(createClient({ url: ":memory:" })),
 *   receivers: [emailReceipt],
 * });
 *
 * await outbox.transaction(async (tx) => {
 *   // ... the change itself, with tx.client ...
 *   await fire(tx, OrderPlaced({ orderId: 1, total: "49.00" }));
 * });
 *
 * await deliverPending(outbox); // a relay does this for ever: `deno task relay`
 * ```
 *
 * @module
 */
export type { Receiver } from "./src/declaration/receiver.ts";
export type {
  Backoff,
  DeliveryFailure,
  DueFunction,
  Mode,
  ReceiverOptions,
  TargetsFunction,
} from "./src/declaration/receiver_options.ts";
export type { ReceiverPolicy } from "./src/declaration/receiver_policy.ts";
export type { DeliveryContext, DeliveryLog, Tx } from "./src/declaration/context.ts";
export type { Handler } from "./src/declaration/lazy.ts";
export type {
  AnyEvent,
  AnyEventDefinition,
  EventDefinition,
  EventInstance,
  EventOptions,
} from "./src/declaration/event.ts";
export type { Retention, StoredRetention } from "./src/declaration/retention.ts";
export type { Json, JsonOf } from "./src/declaration/json.ts";
export type { InputOf, OutputOf, SchemaIssue, SchemaResult, StandardSchema } from "./src/declaration/schema.ts";
export type { Settings } from "./src/declaration/settings.ts";
export type { AroundDelivery } from "./src/declaration/around.ts";
export type { Attribution, Scope, SuppressionOptions } from "./src/firing/scope.ts";
export type { DeliverTaskOptions } from "./src/delivery/deliver_task.ts";
export type { NotYetOptions, RetryAfterOptions } from "./src/delivery/thrown.ts";
export type { Replayed, ReplayOptions } from "./src/firing/replay.ts";
export type { SettledDelivery, SettledOptions } from "./src/operations/settled.ts";
export type { TaskBackend, TaskMessage } from "./src/declaration/task.ts";
export type { DeliverOneOptions } from "./src/delivery/deliver_one.ts";
export type { DeliverPendingOptions } from "./src/delivery/deliver_pending.ts";
export type { DeliveryCounts } from "./src/delivery/counts.ts";
export type { DrainOutboxOptions } from "./src/delivery/drain_outbox.ts";
export type { Duration } from "./src/duration.ts";
export type { FireAllOptions, FireInto, FireOptions } from "./src/firing/fire.ts";
export type { Instant, InstantLike } from "./src/instant.ts";
export type { Join, Outbox, TransactionOptions } from "./src/core.ts";
export type { OutboxOptions } from "./src/outbox.ts";
export type { OutboxHealth, OutboxHealthOptions, ReceiverHealth } from "./src/operations/health.ts";
export type { RelayOptions } from "./src/relay/options.ts";
export type {
  Acknowledgement,
  AcknowledgementLimits,
  Announcement,
  Answer,
  Appended,
  Capabilities,
  ClaimedDelivery,
  ClaimedReceiver,
  ClaimOnlyRequest,
  ClaimRequest,
  DeleteWhen,
  DeliveryFilter,
  DeliveryRecord,
  EventFilter,
  EventRecord,
  Fence,
  FencedSettlement,
  HealthRecord,
  Migration,
  NewDelivery,
  NewEvent,
  Position,
  ReceiverHealthRecord,
  Renewal,
  Reopened,
  Reopening,
  Settlement,
  Status,
  Storage,
  StorageTransaction,
  TakeRequest,
} from "./src/storage/mod.ts";
export type { AssertFiredOptions } from "./src/testing/assert_fired.ts";
export type { PartOf } from "./src/testing/matches.ts";

export { anyEvent, event } from "./src/declaration/event.ts";
export { assertFired } from "./src/testing/assert_fired.ts";
export { attributed, captureScope, causedBy, currentScope, suppressed } from "./src/firing/scope.ts";
export { composeAround } from "./src/declaration/around.ts";
export { createOutbox } from "./src/outbox.ts";
export { deliverOne } from "./src/delivery/deliver_one.ts";
export { deliverPending } from "./src/delivery/deliver_pending.ts";
export { deliverTask } from "./src/delivery/deliver_task.ts";
export { drainOutbox } from "./src/delivery/drain_outbox.ts";
export {
  DatabaseUnreachable,
  DuplicateEvent,
  LeaseLost,
  MigrationsMissing,
  PayloadRefused,
  ReceiverTimeout,
  TaskRefused,
} from "./src/errors.ts";
export { fire, fireAll } from "./src/firing/fire.ts";
export { lazy } from "./src/declaration/lazy.ts";
export { NotYet, PermanentFailure, RetryAfter } from "./src/delivery/thrown.ts";
export { outboxHealth } from "./src/operations/health.ts";
export { receiver } from "./src/declaration/receiver.ts";
export { RelayStopped } from "./src/relay/shutdown.ts";
export { replayEvents } from "./src/firing/replay.ts";
export { runRelay } from "./src/relay/relay.ts";
export { settled } from "./src/operations/settled.ts";
