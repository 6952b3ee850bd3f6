import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type RelayOptions, resolveRelayOptions } from "../../src/relay/options.ts";
import { coreOf } from "../delivery/given.ts";

const core = coreOf({}, { concurrency: 7, batchSize: 70 });
const resolve = (options: unknown) => resolveRelayOptions(core, options as RelayOptions);

describe("the options of a relay", () => {
  it("default to the settings", () => {
    const { signal, worker, onReady, pauses, ...rest } = resolve({});
    assert.equal(pauses.room("default"), Infinity);
    assert.deepEqual(rest, { graceMs: undefined, concurrency: 7, batchSize: 70, lane: "default", passes: Infinity });
    assert.equal(signal.aborted, false);
    assert.match(worker, /^.+:\d+#[0-9a-f]{8}$/);
    onReady();
  });

  it("are taken as given", () => {
    const stopped = AbortSignal.abort();
    const options = resolve({ signal: stopped, grace: { seconds: 30 }, concurrency: 1000, batchSize: 1, passes: 3 });
    assert.equal(options.signal, stopped);
    assert.equal(options.graceMs, 30_000);
    assert.deepEqual([options.concurrency, options.batchSize, options.passes], [1000, 1, 3]);
    assert.match(resolve({ workerId: "relay-1" }).worker, /^relay-1#[0-9a-f]{8}$/);
  });

  const notWhole = [0, -1, 2.5, NaN, "2", true, null];
  const bad: Record<string, unknown[]> = {
    concurrency: [...notWhole, 1001],
    batchSize: [...notWhole, 1001],
    passes: notWhole,
    grace: [0, 30, "30s", null, { seconds: 0 }, { seconds: -1 }, {}],
  };
  for (const [name, values] of Object.entries(bad)) {
    it(`${name} is refused by name when it is out of range`, () => {
      for (const value of values) {
        assert.throws(
          () => resolve({ [name]: value }),
          new RegExp(`Error: Cannot use the option ${name}: `),
          `${value}`,
        );
      }
    });
  }
});
