import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { uuidv7 } from "../../src/uuid.ts";

function at<R>(clock: () => number, work: () => R): R {
  const real = Date.now;
  Date.now = clock;
  try {
    return work();
  } finally {
    Date.now = real;
  }
}

const many = (count: number) => Array.from({ length: count }, () => uuidv7());
const millisecondsOf = (id: string) => parseInt(id.replace("-", "").slice(0, 12), 16);

function assertRising(ids: string[]): void {
  for (const [i, id] of ids.entries()) if (i > 0) assert.ok(ids[i - 1]! < id, `${ids[i - 1]} before ${id}`);
}

describe("uuidv7", () => {
  it("has the format, the version and the variant of RFC 9562", () => {
    for (const id of many(2000)) {
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
  });

  it("begins with the clock's milliseconds", () => {
    const later = Date.now() + 1000;
    assert.equal(millisecondsOf(at(() => later, uuidv7)), later);
  });

  it("rises strictly in a burst within one millisecond, past the counter's end", () => {
    const now = Date.now() + 10_000;
    const ids = at(() => now, () => many(20_000));
    assertRising(ids);
    assert.equal(millisecondsOf(ids[0]!), now);
    assert.ok(millisecondsOf(ids.at(-1)!) <= now + 20_000 / 2048, "it runs ahead of the clock by little");
  });

  it("rises strictly when the clock steps back, and follows it again once it has caught up", () => {
    const now = Date.now() + 20_000;
    const before = at(() => now, () => many(10));
    const stepped = at(() => now - 3_600_000, () => many(10));
    const after = at(() => now + 100, () => many(10));
    assertRising([...before, ...stepped, ...after]);
    assert.equal(millisecondsOf(after[0]!), now + 100);
  });

  it("shares no random part", () => {
    const tails = new Set(many(5000).map((id) => id.slice(19)));
    assert.equal(tails.size, 5000);
  });
});
