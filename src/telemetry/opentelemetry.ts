/**
 * Traces of deliveries: a consumer span around each attempt, linked to the span in which its event was fired.
 *
 * ```ts
 * import { createClient } from "@libsql/client";
 * import { createOutbox } from "@owed/outbox";
 * import { libsqlStorage } from "@owed/outbox/libsql";
 * import { openTelemetry } from "@owed/outbox/opentelemetry";
 *
 * await using outbox = createOutbox({
 *   storage: libsqlStorage(createClient({ url: ":memory:" })),
 *   receivers: [],
 *   ...openTelemetry(),
 * });
 * ```
 *
 * Without an SDK in the process it does nothing.
 *
 * @module
 */
import {
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { AroundDelivery } from "../declaration/around.ts";
import type { DeliveryContext } from "../declaration/context.ts";
import { isThrown, NotYet } from "../delivery/thrown.ts";
import { errorType, logger } from "../log.ts";
import { MESSAGING, OWED } from "./attributes.ts";

const log = logger(["telemetry"]);

/** What a tracer of `@opentelemetry/api` has to have. */
export interface SpanTracer {
  /** Starts a span. */
  // deno-lint-ignore no-explicit-any -- the package's own types of options, contexts and spans
  startSpan(name: string, options?: any, context?: any): any;
}

/** Options of {@linkcode openTelemetry}. */
export interface OpenTelemetryOptions {
  /** Whose spans they are. Default: the global provider's tracer `"@owed/outbox"`. */
  readonly tracer?: SpanTracer;
}

/** The two options of `createOutbox` that make traces. */
export interface OpenTelemetryHooks {
  /** Stores the trace that a fire belongs to. */
  readonly traceContext: () => Record<string, string>;
  /** Wraps each attempt in a span. */
  readonly aroundDelivery: AroundDelivery;
}

/**
 * Makes the options of `createOutbox` that store the trace of each fire with its event and wrap each attempt in a
 * consumer span. The span is linked to the fire and not its child: a delivery may run days later. It is a child of what
 * surrounds the attempt, such as the span of a task's request. A tracer that fails costs the trace and no delivery.
 *
 * @returns both options; with a hook of your own, compose them by `composeAround`
 *
 * @example Beside a hook of your own
 * ```ts
 * import { type AroundDelivery, composeAround } from "@owed/outbox";
 * import { openTelemetry } from "@owed/outbox/opentelemetry";
 *
 * const tenant: AroundDelivery = (_ctx, next) => next();
 * const traced = openTelemetry();
 * const options = { ...traced, aroundDelivery: composeAround(traced.aroundDelivery, tenant) };
 * console.log(typeof options.traceContext); // function
 * ```
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): OpenTelemetryHooks {
  const tracer = () => options.tracer ?? trace.getTracer("@owed/outbox");
  return {
    traceContext: () => {
      const carrier: Record<string, string> = {};
      propagation.inject(context.active(), carrier);
      return carrier;
    },
    aroundDelivery: async (ctx, next) => {
      const span = started(tracer, ctx);
      if (span === undefined) return await next();
      try {
        await context.with(trace.setSpan(context.active(), span), next);
      } catch (error) {
        if (isThrown(error, NotYet)) throw error; // its work is not due: nothing failed
        // The class alone: a message may hold a payload.
        const type = errorType(error);
        span.setAttribute(MESSAGING.errorType, type);
        span.setStatus({ code: SpanStatusCode.ERROR, message: type });
        throw error;
      } finally {
        span.end();
      }
    },
  };
}

function started(tracer: () => SpanTracer, ctx: DeliveryContext): Span | undefined {
  try {
    const fired = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, ctx.trace));
    return tracer().startSpan(`process ${ctx.eventName}`, {
      kind: SpanKind.CONSUMER,
      attributes: attributesOf(ctx),
      links: fired === undefined ? [] : [{ context: fired }],
      root: isWithin(fired),
    });
  } catch (error) {
    log.warn("no span could be started for delivery {delivery} ({error})", {
      delivery: ctx.deliveryId,
      error: errorType(error),
    });
    return undefined;
  }
}

// An eager attempt is surrounded by the very trace in which its event was fired: there it begins one of its own, like
// every other attempt.
function isWithin(fired: SpanContext | undefined): boolean {
  return fired !== undefined && trace.getSpanContext(context.active())?.traceId === fired.traceId;
}

function attributesOf(ctx: DeliveryContext): Record<string, string | number> {
  return {
    [MESSAGING.system]: "owed",
    [MESSAGING.operationName]: "process",
    [MESSAGING.operationType]: "process",
    [MESSAGING.destination]: ctx.eventName,
    [MESSAGING.consumerGroup]: ctx.receiverKey,
    [MESSAGING.messageId]: ctx.eventId,
    ...(ctx.correlationId === undefined ? {} : { [MESSAGING.conversationId]: ctx.correlationId }),
    [OWED.deliveryId]: ctx.deliveryId,
    [OWED.attempt]: ctx.attempt,
    ...(ctx.target === "" ? {} : { [OWED.target]: ctx.target }),
  };
}
