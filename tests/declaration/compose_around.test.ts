import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AroundDelivery, composeAround } from "../../src/declaration/around.ts";
import type { DeliveryContext } from "../../src/declaration/context.ts";

const ctx = { receiverKey: "stock" } as DeliveryContext;
const boom = new RangeError("the receiver's own");
const through: AroundDelivery = (_, next) => next();
const catching: AroundDelivery = async (_, next) => {
  await next().catch(() => {});
};

/** Runs the hooks around a receiver; gives what they were rejected with, or undefined. */
async function run(hooks: AroundDelivery[], receiver: () => Promise<void> = () => Promise.resolve()): Promise<unknown> {
  try {
    await composeAround(...hooks)(ctx, receiver);
  } catch (error) {
    return error;
  }
}

/** A hook that notes what its `next` was rejected with. */
function watching(): { hook: AroundDelivery; saw: unknown[] } {
  const saw: unknown[] = [];
  const hook: AroundDelivery = async (_, next) => {
    try {
      await next();
      saw.push("nothing");
    } catch (error) {
      saw.push(error);
      throw error;
    }
  };
  return { hook, saw };
}

describe("composeAround", () => {
  it("hands each the same context, from the first outermost to the last", async () => {
    const steps: string[] = [];
    const step = (name: string): AroundDelivery => async (given, next) => {
      assert.equal(given, ctx);
      steps.push(name);
      await next();
      steps.push(`${name} done`);
    };
    const receiver = () => Promise.resolve(void steps.push("run"));
    assert.equal(await run([step("a"), step("b")], receiver), undefined);
    assert.deepEqual(steps, ["a", "b", "run", "b done", "a done"]);
  });

  it("of none runs the receiver", async () => {
    let ran = 0;
    assert.equal(await run([], () => Promise.resolve(void ran++)), undefined);
    assert.equal(ran, 1);
  });

  it("rejects with the receiver's own error, the same object at each layer", async () => {
    const [outer, inner] = [watching(), watching()];
    assert.equal(await run([outer.hook, through, inner.hook], () => Promise.reject(boom)), boom);
    assert.equal(outer.saw[0], boom);
    assert.equal(inner.saw[0], boom);
  });

  it("an inner hook that catches hides nothing from the outer ones", async () => {
    const outer = watching();
    assert.equal(await run([outer.hook, catching], () => Promise.reject(boom)), boom);
    assert.equal(outer.saw[0], boom);
  });

  it("what an inner hook throws afterwards is not the outer ones' to see, and is not lost", async () => {
    const late = new TypeError("late");
    const failing: AroundDelivery = async (_, next) => {
      await next();
      throw late;
    };
    const outer = watching();
    assert.equal(await run([outer.hook, failing]), late);
    assert.deepEqual(outer.saw, ["nothing"]);
    const both = await run([failing, failing]);
    assert.ok(both instanceof AggregateError);
    assert.deepEqual(both.errors, [late, late]);
  });

  it("a hook that fails before its next keeps those inside from running, and every outer one sees it", async () => {
    const early = new TypeError("no tenant");
    const outer = watching();
    const never: AroundDelivery = () => assert.fail("it was entered");
    assert.equal(await run([outer.hook, () => Promise.reject(early), never], () => assert.fail("it ran")), early);
    assert.equal(outer.saw[0], early);
    assert.equal(await run([catching, () => Promise.reject(early)], () => assert.fail("it ran")), early);
  });

  it("one that throws at once rejects the outer one's next, and does not throw in it", async () => {
    const early = new TypeError("at once");
    let rejected: unknown;
    const outer: AroundDelivery = async (_, next) => {
      await next().catch((error) => rejected = error);
    };
    const failing: AroundDelivery = () => {
      throw early;
    };
    assert.equal(await run([outer, failing]), early);
    assert.equal(rejected, early);
    assert.equal(await run([failing]), early);
  });

  it("one that never calls next has failed", async () => {
    const outer = watching();
    const error = await run([outer.hook, () => {}], () => assert.fail("it ran"));
    assert.match(String(error), /returned without calling next\(\)/);
    assert.equal(outer.saw[0], error);
  });

  it("none can go on twice, and nothing inside runs twice", async () => {
    let ran = 0;
    const inner = watching();
    const twice: AroundDelivery = async (_, next) => {
      await next();
      await next();
    };
    const error = await run([twice, inner.hook], () => Promise.resolve(void ran++));
    assert.ok(error instanceof TypeError);
    assert.match(error.message, /calls next\(\) once/);
    assert.deepEqual([ran, inner.saw], [1, ["nothing"]]);
  });

  it("one that does not await next is waited for, and leaves no unhandled rejection", async () => {
    const careless: AroundDelivery = (_, next) => void next();
    const gate = Promise.withResolvers<void>();
    let done = false;
    const running = run([through, careless], () => gate.promise).then((error) => {
      done = true;
      return error;
    });
    await Promise.resolve();
    assert.equal(done, false);
    gate.reject(boom);
    assert.equal(await running, boom);
  });

  it("can be used at a time and again", async () => {
    const hook = composeAround(through, through);
    const errors = await Promise.all([
      hook(ctx, () => Promise.resolve()),
      Promise.resolve(hook(ctx, () => Promise.reject(boom))).catch((error) => error),
      hook(ctx, () => Promise.resolve()),
    ]);
    assert.deepEqual(errors, [undefined, boom, undefined]);
  });

  it("what is no function is refused at once", () => {
    for (const hook of [undefined, null, "hook", {}]) {
      assert.throws(() => composeAround(through, hook as never), /Cannot compose hooks: each is a function, got/);
    }
  });
});
