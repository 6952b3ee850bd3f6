/**
 * Names of OpenTelemetry's semantic conventions for messaging, which are still in development: the one place to change
 * when they do.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
 */
export const MESSAGING = {
  system: "messaging.system",
  operationName: "messaging.operation.name",
  operationType: "messaging.operation.type",
  destination: "messaging.destination.name",
  consumerGroup: "messaging.consumer.group.name",
  messageId: "messaging.message.id",
  conversationId: "messaging.message.conversation_id",
  errorType: "error.type",
} as const;

/** Our own attributes. */
export const OWED = {
  deliveryId: "owed.delivery.id",
  attempt: "owed.delivery.attempt",
  target: "owed.delivery.target",
} as const;
