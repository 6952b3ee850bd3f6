import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { guard, type GuardState } from "../../src/storage/guard.ts";

function state(): GuardState & { failures: unknown[] } {
  const failures: unknown[] = [];
  return { refusal: null, failures, failed: (error) => failures.push(error) };
}

/** A query that runs when it is observed, as postgres.js has them. */
class LazyQuery extends Promise<string> {
  static runs = 0;
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }
  static make(): LazyQuery {
    return new LazyQuery((resolve) => resolve("row"));
  }
  values(): this {
    return this;
  }
  override then<A = string, B = never>(
    ok?: ((value: string) => A | PromiseLike<A>) | null,
    bad?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    LazyQuery.runs += 1;
    return super.then(ok, bad);
  }
}

describe("guard", () => {
  it("passes calls, templates and properties on to the client", async () => {
    const client = Object.assign((strings: TemplateStringsArray) => Promise.resolve(strings[0]), {
      unsafe(text: string) {
        return Promise.resolve(`${text} ${this.label}`);
      },
      label: "here",
    });
    const guarded = guard(client, state());
    assert.equal(await guarded`select`, "select");
    assert.equal(await guarded.unsafe("run"), "run here");
    assert.equal(guarded.label, "here");
    assert.equal(guarded.unsafe, guarded.unsafe);
  });

  it("refuses each use once there is a refusal", () => {
    const watched = state();
    const guarded = guard(Object.assign(() => 1, { query: () => 2 }), watched);
    const { query } = guarded;
    watched.refusal = "It is over";
    assert.throws(() => guarded(), { name: "TypeError", message: "It is over" });
    assert.throws(() => guarded.query(), { name: "TypeError", message: "It is over" });
    assert.throws(() => query(), { name: "TypeError", message: "It is over" });
  });

  it("refuses a lazy query that was made before and is awaited after", async () => {
    const watched = state();
    const query = guard({ query: () => LazyQuery.make() }, watched).query().values();
    watched.refusal = "It is over";
    LazyQuery.runs = 0;
    await assert.rejects(async () => await query, { name: "TypeError", message: "It is over" });
    await assert.rejects(query.catch((error) => Promise.reject(error)), { message: "It is over" });
    assert.equal(LazyQuery.runs, 0);
    assert.throws(() => query.values(), { message: "It is over" });
  });

  it("runs a lazy query only when it is observed", async () => {
    LazyQuery.runs = 0;
    const query = guard({ query: () => LazyQuery.make() }, state()).query();
    await Promise.resolve();
    assert.equal(LazyQuery.runs, 0);
    assert.equal(await query, "row");
    assert.equal(LazyQuery.runs, 1);
  });

  it("tells of a rejected statement even when the user's code swallows it", async () => {
    const watched = state();
    const boom = new Error("boom");
    await guard({ query: () => Promise.reject(boom) }, watched).query().catch(() => {});
    assert.deepEqual(watched.failures, [boom]);
  });

  it("guards the handle of a savepoint, whose failures are the driver's to undo", async () => {
    const watched = state();
    const inner = { query: () => Promise.reject(new Error("inside")) };
    const outer = { savepoint: (work: (client: typeof inner) => Promise<void>) => work(inner) };
    let kept: typeof inner | undefined;
    await guard(outer, watched).savepoint(async (client) => {
      kept = client;
      await client.query().catch(() => {});
    });
    assert.deepEqual(watched.failures, []);
    watched.refusal = "It is over";
    assert.throws(() => kept?.query(), { message: "It is over" });
  });
});
