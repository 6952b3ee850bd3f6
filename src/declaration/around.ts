import { show } from "./refusals.ts";
import type { DeliveryContext } from "./context.ts";

/**
 * Runs around each durable attempt, wherever it is made: for a trace, a log context, a tenant. `next` runs the receiver
 * and settles once its outcome is recorded, logged and told to `onFailure`, rejecting with the receiver's own error;
 * catching that changes nothing. Throwing before `next` is called, or never calling it, fails the attempt as if the
 * receiver had thrown; throwing afterwards is logged and changes nothing. It must not open a transaction around `next`:
 * the outcome would be recorded in it.
 *
 * Attempts that run at a time have hooks that run at a time; only with `concurrency: 1` does one end before the next
 * begins. What must not mix belongs in an `AsyncLocalStorage` around `next`.
 *
 * @example A line per attempt
 * ```ts
 * import type { AroundDelivery } from "@owed/outbox";
 *
 * const timed: AroundDelivery = async (ctx, next) => {
 *   const start = performance.now();
 *   try {
 *     await next();
 *   } finally {
 *     console.log(ctx.receiverKey, performance.now() - start);
 *   }
 * };
 * console.log(typeof timed);
 * ```
 */
export type AroundDelivery = (ctx: DeliveryContext, next: () => Promise<void>) => Promise<void> | void;

/**
 * Several hooks as one; the first is the outermost. To each the others are invisible, except that one which fails
 * before its `next` keeps those inside it from running: every `next` settles as the receiver's own does, whatever the
 * hooks inside have caught or thrown.
 *
 * @throws {TypeError} for a hook that is no function
 *
 * @example A trace around a tenant
 * ```ts
 * import { type AroundDelivery, composeAround } from "@owed/outbox";
 *
 * const tenant: AroundDelivery = (_ctx, next) => next();
 * const traced: AroundDelivery = (_ctx, next) => next();
 * const both = composeAround(traced, tenant);
 * console.log(typeof both); // function
 * ```
 */
export function composeAround(...hooks: readonly AroundDelivery[]): AroundDelivery {
  for (const hook of hooks) {
    if (typeof hook !== "function") throw new TypeError(`Cannot compose hooks: each is a function, got ${show(hook)}`);
  }
  return async (ctx, next) => {
    let receiver: Promise<void> | undefined;
    const late: unknown[] = [];
    const layer = async (i: number): Promise<void> => {
      const hook = hooks[i];
      if (hook === undefined) return await (receiver = next());
      let inner: Promise<void> | undefined;
      let thrown: unknown[] = [];
      try {
        await hook(ctx, () => {
          if (inner) return Promise.reject(new TypeError("Cannot go on twice: a hook calls next() once"));
          inner = layer(i + 1);
          // The hook need not await it: then its rejection is nobody's.
          inner.catch(() => {});
          return inner;
        });
        if (inner === undefined) throw new Error("A hook returned without calling next()");
      } catch (error) {
        if (inner === undefined) throw error;
        thrown = [error];
      }
      try {
        await inner;
      } catch (own) {
        thrown = thrown.filter((error) => error !== own);
        throw own;
      } finally {
        late.push(...thrown);
      }
    };
    try {
      await layer(0);
    } catch (error) {
      if (receiver === undefined || late.length === 0) throw error;
    }
    if (late.length > 1) throw new AggregateError(late, "Several hooks failed after their next()");
    if (late.length > 0) throw late[0];
  };
}
