import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createClient } from "@libsql/client";
import {
  context,
  isSpanContextValid,
  propagation,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import {
  type AroundDelivery,
  composeAround,
  deliverPending,
  event,
  fire,
  NotYet,
  type OutboxOptions,
  receiver,
} from "../../mod.ts";
import { openTelemetry } from "../../src/telemetry/opentelemetry.ts";
import { MESSAGING, OWED } from "../../src/telemetry/attributes.ts";
import { testOutbox } from "../../src/testing/mod.ts";
import { recordLogs } from "../suite/outbox/logs.ts";

const OrderPlaced = event<{ orderId: number }>("orders.placed");

/** The W3C header, as the SDK's own propagator writes it. */
const traceparent: TextMapPropagator = {
  inject: (context, carrier, setter) => {
    const span = trace.getSpanContext(context);
    if (!span || !isSpanContextValid(span)) return;
    setter.set(carrier, "traceparent", `00-${span.traceId}-${span.spanId}-0${span.traceFlags}`);
  },
  extract: (context, carrier, getter) => {
    const [, traceId, spanId, flags] = String(getter.get(carrier, "traceparent") ?? "").split("-");
    if (!traceId || !spanId) return context;
    return trace.setSpanContext(context, { traceId, spanId, traceFlags: Number(flags), isRemote: true });
  },
  fields: () => ["traceparent"],
};

function outboxOf(receivers: OutboxOptions["receivers"], options: Partial<OutboxOptions> = {}) {
  const client = createClient({ url: ":memory:" });
  return testOutbox({ client, receivers, events: [OrderPlaced], ...openTelemetry(), ...options });
}

const place = (orderId = 1) => OrderPlaced({ orderId });
const named = (spans: readonly ReadableSpan[], name: string) => spans.filter((span) => span.name === name);

describe("OpenTelemetry without an SDK", () => {
  it("stores nothing, and deliveries run as without it", async () => {
    const traces: unknown[] = [];
    await using outbox = outboxOf([receiver(OrderPlaced, "stock", (_, ctx) => traces.push(ctx.trace))]);
    await outbox.transaction((tx) => fire(tx, place()));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(traces, [{}]);
  });
});

describe("OpenTelemetry", () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer("test");

  beforeEach(() => {
    exporter.reset();
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(traceparent);
    trace.setGlobalTracerProvider(provider);
  });

  afterEach(() => {
    for (const api of [context, propagation, trace]) api.disable();
  });

  it("stores the trace of the fire, and links the attempt's span to it without being its child", async () => {
    let told: Readonly<Record<string, string>> = {};
    await using outbox = outboxOf([receiver(OrderPlaced, "stock", (_, ctx) => void (told = ctx.trace))]);
    const fired = await tracer.startActiveSpan("request", async (span) => {
      await outbox.transaction((tx) => fire(tx, place()));
      span.end();
      return span.spanContext();
    });
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.equal(told.traceparent, `00-${fired.traceId}-${fired.spanId}-01`);
    const [span] = named(exporter.getFinishedSpans(), "process orders.placed");
    assert.equal(span!.kind, SpanKind.CONSUMER);
    assert.deepEqual(span!.links.map((link) => [link.context.traceId, link.context.spanId]), [
      [fired.traceId, fired.spanId],
    ]);
    assert.equal(span!.parentSpanContext, undefined);
    assert.notEqual(span!.spanContext().traceId, fired.traceId);
    assert.equal(span!.status.code, SpanStatusCode.UNSET);
  });

  it("an event that was fired outside of any span has no link", async () => {
    await using outbox = outboxOf([receiver(OrderPlaced, "stock", () => {})]);
    await outbox.transaction((tx) => fire(tx, place()));
    await tracer.startActiveSpan("drain", async (span) => {
      await deliverPending(outbox);
      span.end();
    });
    const [span] = named(exporter.getFinishedSpans(), "process orders.placed");
    assert.deepEqual(span!.links, []);
  });

  it("an eager attempt is linked to the fire and begins a trace of its own", async () => {
    await using outbox = outboxOf([receiver(OrderPlaced, "notify", () => {}, { eager: true })]);
    const fired = await tracer.startActiveSpan("request", async (span) => {
      await outbox.transaction((tx) => fire(tx, place()));
      span.end();
      return span.spanContext();
    });
    const [span] = named(exporter.getFinishedSpans(), "process orders.placed");
    assert.notEqual(span!.spanContext().traceId, fired.traceId);
    assert.equal(span!.links[0]!.context.spanId, fired.spanId);
  });

  it("is a child of what surrounds the attempt, such as a task's request", async () => {
    await using outbox = outboxOf([receiver(OrderPlaced, "stock", () => {})]);
    await outbox.transaction((tx) => fire(tx, place()));
    const around = await tracer.startActiveSpan("worker", async (span) => {
      await deliverPending(outbox);
      span.end();
      return span.spanContext();
    });
    const [span] = named(exporter.getFinishedSpans(), "process orders.placed");
    assert.equal(span!.parentSpanContext?.spanId, around.spanId);
  });

  it("has the attributes of messaging, and ours", async () => {
    await using outbox = outboxOf([
      receiver(OrderPlaced, "partner", (_, ctx) => {
        if (ctx.attempt === 1) throw new Error("no luck");
      }, { targets: () => ["a"] }),
    ]);
    const eventId = await outbox.transaction((tx) => fire(tx, place()));
    await deliverPending(outbox);
    await deliverPending(outbox, { now: new Date(Date.now() + 3_600_000) });
    const [first, second] = named(exporter.getFinishedSpans(), "process orders.placed");
    const [row] = await outbox.storage.findDeliveries({});
    assert.deepEqual(second!.attributes, {
      [MESSAGING.system]: "owed",
      [MESSAGING.operationName]: "process",
      [MESSAGING.operationType]: "process",
      [MESSAGING.destination]: "orders.placed",
      [MESSAGING.consumerGroup]: "partner",
      [MESSAGING.messageId]: eventId,
      [OWED.deliveryId]: row!.id,
      [OWED.attempt]: 2,
      [OWED.target]: "a",
    });
    assert.equal(first!.attributes[OWED.attempt], 1);
    assert.equal(first!.attributes[MESSAGING.errorType], "Error");
  });

  it("takes its status from the receiver's error, by class and never by message", async () => {
    await using outbox = outboxOf([
      receiver(OrderPlaced, "mail", () => Promise.reject(new RangeError("hunter2"))),
      receiver(OrderPlaced, "expire", () => Promise.reject(new NotYet(new Date(Date.now() + 3_600_000)))),
    ]);
    await outbox.transaction((tx) => fire(tx, place()));
    assert.deepEqual(await deliverPending(outbox), { failed: 1, pending: 1 });
    const [mail, expire] = named(exporter.getFinishedSpans(), "process orders.placed");
    assert.deepEqual(mail!.status, { code: SpanStatusCode.ERROR, message: "RangeError" });
    assert.equal(mail!.attributes[MESSAGING.errorType], "RangeError");
    assert.deepEqual(mail!.events, []);
    assert.equal(expire!.status.code, SpanStatusCode.UNSET);
    assert.equal(expire!.attributes[MESSAGING.errorType], undefined);
  });

  it("surrounds the receiver, whose own spans are its children", async () => {
    await using outbox = outboxOf([
      receiver(OrderPlaced, "stock", async () => {
        await Promise.resolve();
        tracer.startSpan("update stock").end();
      }),
    ]);
    await outbox.transaction((tx) => fire(tx, place()));
    await deliverPending(outbox);
    const [inner, outer] = exporter.getFinishedSpans();
    assert.equal(inner!.name, "update stock");
    assert.equal(inner!.parentSpanContext?.spanId, outer!.spanContext().spanId);
  });

  it("a child that the receiver fires carries the trace of the attempt", async () => {
    const Child = event<null>("child");
    await using outbox = outboxOf([
      receiver(OrderPlaced, "stock", (_, ctx) => fire(ctx, Child(null))),
      receiver(Child, "child", () => {}),
    ]);
    await outbox.transaction((tx) => fire(tx, place()));
    await deliverPending(outbox);
    const [parent] = named(exporter.getFinishedSpans(), "process orders.placed");
    const [child] = named(exporter.getFinishedSpans(), "process child");
    assert.equal(child!.links[0]!.context.spanId, parent!.spanContext().spanId);
  });

  it("composes with a hook of the user's own, and one that catches hides no error from it", async () => {
    const quiet: AroundDelivery = async (_, next) => {
      await next().catch(() => {});
    };
    const { aroundDelivery } = openTelemetry();
    await using outbox = outboxOf([receiver(OrderPlaced, "mail", () => Promise.reject(new RangeError("x")))], {
      aroundDelivery: composeAround(aroundDelivery, quiet),
    });
    await outbox.transaction((tx) => fire(tx, place()));
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.equal(exporter.getFinishedSpans()[0]!.status.code, SpanStatusCode.ERROR);
  });

  it("uses the tracer that it is given", async () => {
    const own = new InMemorySpanExporter();
    const other = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(own)] });
    await using outbox = outboxOf([receiver(OrderPlaced, "stock", () => {})], {
      ...openTelemetry({ tracer: other.getTracer("mine") }),
    });
    await outbox.transaction((tx) => fire(tx, place()));
    await deliverPending(outbox);
    assert.equal(own.getFinishedSpans().length, 1);
    assert.equal(exporter.getFinishedSpans().length, 0);
  });

  it("a propagator that throws fails neither a fire nor a delivery", async () => {
    const broken: TextMapPropagator = {
      inject: () => {
        throw new Error("secret");
      },
      extract: () => {
        throw new Error("secret");
      },
      fields: () => [],
    };
    propagation.disable();
    propagation.setGlobalPropagator(broken);
    const logs = await recordLogs();
    await using outbox = outboxOf([receiver(OrderPlaced, "stock", () => {})]);
    await outbox.transaction((tx) => fire(tx, place()));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.match(logs.lines("warning").join(), /^no span could be started for delivery \d+ \(Error\)$/);
    assert.ok(!logs.everything.includes("secret"));
  });

  it("a tracer that throws costs the span and no delivery", async () => {
    const tracer = {
      startSpan: () => {
        throw new Error("no");
      },
    };
    let ran = 0;
    await using outbox = outboxOf([receiver(OrderPlaced, "stock", () => ran++)], {
      ...openTelemetry({ tracer }),
    });
    await outbox.transaction((tx) => fire(tx, place()));
    assert.deepEqual([await deliverPending(outbox), ran], [{ succeeded: 1 }, 1]);
  });

  it("a trace context that is no object, or no JSON, is not stored", async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    for (const given of [undefined, null, {}, circular, { n: 1n }]) {
      const traces: unknown[] = [];
      await using outbox = outboxOf([receiver(OrderPlaced, "stock", (_, ctx) => traces.push(ctx.trace))], {
        traceContext: () => given as never,
      });
      await outbox.transaction((tx) => fire(tx, place()));
      assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
      assert.deepEqual(traces, [{}]);
    }
  });
});

it("the names of the attributes are those of the convention", () => {
  assert.deepEqual(
    Object.values(MESSAGING).filter((name) => name !== "error.type" && !name.startsWith("messaging.")),
    [],
  );
  assert.ok(Object.values(OWED).every((name) => name.startsWith("owed.")));
});
