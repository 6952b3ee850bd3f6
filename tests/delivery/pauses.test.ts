import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Pauses } from "../../src/delivery/pauses.ts";

/** Pauses by a clock that stands at 1000 ms. */
function given() {
  const clock = { now: 1000 };
  return { clock, pauses: new Pauses(() => clock.now) };
}

describe("the pauses", () => {
  it("a lane that nobody deferred in is open", () => {
    const { pauses } = given();
    assert.deepEqual([pauses.closed("mail"), pauses.room("mail"), pauses.start("mail")], [false, Infinity, undefined]);
    assert.equal(pauses.nextEndMs, null);
  });

  it("a pause closes its own lane until its end, which it does not include", () => {
    const { clock, pauses } = given();
    pauses.hold("mail", 50);
    assert.deepEqual([pauses.closed("mail"), pauses.room("mail"), pauses.nextEndMs], [true, 0, 50]);
    assert.equal(pauses.closed("default"), false);
    clock.now = 1049.999;
    assert.equal(pauses.closed("mail"), true);
    clock.now = 1050;
    assert.deepEqual([pauses.closed("mail"), pauses.room("mail"), pauses.nextEndMs], [false, 1, null]);
  });

  it("the latest moment that any deferral asked for is the end", () => {
    const { clock, pauses } = given();
    pauses.hold("mail", 100);
    pauses.hold("mail", 20);
    assert.equal(pauses.nextEndMs, 100);
    clock.now = 1050;
    pauses.hold("mail", 80);
    assert.equal(pauses.nextEndMs, 80);
  });

  it("the first of several ends is the next one", () => {
    const { clock, pauses } = given();
    pauses.hold("mail", 100);
    pauses.hold("sms", 20);
    assert.equal(pauses.nextEndMs, 20);
    clock.now = 1030;
    assert.equal(pauses.nextEndMs, 70);
  });

  it("after its end one at a time is let through, until one meets no deferral", () => {
    const { clock, pauses } = given();
    pauses.hold("mail", 50);
    clock.now = 1050;
    const first = pauses.start("mail")!;
    assert.deepEqual([pauses.closed("mail"), pauses.room("mail"), pauses.nextEndMs], [true, 0, null]);
    pauses.over(first, false);
    assert.deepEqual([pauses.closed("mail"), pauses.room("mail")], [false, 1]);
    pauses.over(pauses.start("mail")!, true);
    assert.deepEqual([pauses.room("mail"), pauses.start("mail")], [Infinity, undefined]);
  });

  it("a probe that is deferred begins the next pause", () => {
    const { clock, pauses } = given();
    pauses.hold("mail", 50);
    clock.now = 1050;
    const probe = pauses.start("mail")!;
    pauses.hold("mail", 30);
    pauses.over(probe, false);
    assert.deepEqual([pauses.room("mail"), pauses.nextEndMs], [0, 30]);
    clock.now = 1080;
    assert.equal(pauses.room("mail"), 1);
  });

  it("a probe that went well does not cut short what another delivery asked for meanwhile", () => {
    const { clock, pauses } = given();
    pauses.hold("mail", 50);
    clock.now = 1050;
    const probe = pauses.start("mail")!;
    pauses.hold("mail", 30);
    pauses.over(probe, true);
    assert.deepEqual([pauses.room("mail"), pauses.nextEndMs], [0, 30]);
  });

  it("a probe that is told to be over twice does not end another's", () => {
    const { clock, pauses } = given();
    pauses.hold("mail", 50);
    clock.now = 1050;
    const first = pauses.start("mail")!;
    pauses.over(first, true);
    pauses.hold("mail", 10);
    clock.now = 1060;
    pauses.start("mail");
    pauses.over(first, true);
    assert.equal(pauses.closed("mail"), true);
  });

  it("pitfall 87: by a clock that stands still a pause never ends", () => {
    const pauses = new Pauses(() => 0);
    pauses.hold("mail", 0.001);
    assert.equal(pauses.closed("mail"), true);
  });
});
