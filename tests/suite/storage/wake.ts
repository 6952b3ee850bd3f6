import assert from "node:assert/strict";
import { waitFor } from "../../support/wait_for.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import type { Cases } from "./given.ts";
import { range } from "./samples.ts";

interface Ear extends Disposable {
  heard: number;
}

async function listen(storage: Storage): Promise<Ear> {
  const stop = new AbortController();
  const ear: Ear = { heard: 0, [Symbol.dispose]: () => stop.abort() };
  await storage.listen(() => ear.heard++, stop.signal);
  return ear;
}

export const wakeCases: Cases = {
  "nobody has to listen": async (given) => {
    await given.storage.wake();
  },

  "is heard in the same process": async (given) => {
    using ear = await listen(given.storage);
    await given.storage.wake();
    await waitFor(() => ear.heard > 0, { what: "the wake" });
  },

  "is heard by other processes": async (given) => {
    using ear = await listen(given.second);
    await given.storage.wake();
    await waitFor(() => ear.heard > 0, { what: "the wake" });
  },

  "is heard by all that listen": async (given) => {
    using first = await listen(given.storage);
    using second = await listen(given.storage);
    await given.storage.wake();
    await waitFor(() => first.heard > 0 && second.heard > 0, { what: "both to hear it" });
  },

  "is heard again": async (given) => {
    using ear = await listen(given.storage);
    for (const _ of range(3)) {
      ear.heard = 0;
      await given.storage.wake();
      await waitFor(() => ear.heard > 0, { what: "the wake" });
    }
  },

  "is not heard after the signal": async (given) => {
    const deaf = await listen(given.storage);
    deaf[Symbol.dispose]();
    using ear = await listen(given.storage);
    deaf.heard = 0;
    await given.storage.wake();
    await waitFor(() => ear.heard > 0, { what: "the wake" });
    assert.equal(deaf.heard, 0);
  },

  "a signal that has aborted listens to nothing": async (given) => {
    await given.storage.listen(() => assert.fail("heard"), AbortSignal.abort());
    using ear = await listen(given.storage);
    await given.storage.wake();
    await waitFor(() => ear.heard > 0, { what: "the wake" });
  },

  "waits for no transaction and holds none up": async (given) => {
    using ear = await listen(given.storage);
    await given.storage.transaction(async (tx) => {
      await given.note(tx.client, "work");
      await given.second.wake();
      await waitFor(() => ear.heard > 0, { what: "the wake" });
    });
  },
};
