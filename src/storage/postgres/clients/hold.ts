/** A scope that a driver runs around a callback, turned inside out: entered now, left later. */
export interface Held<Handle> {
  readonly handle: Handle;
  /** Settles when the scope has ended by itself, which is when its connection was lost. Never rejects. */
  readonly ended: Promise<void>;
  /**
   * Ends it, keeping what was done or undoing it; with the reason where something has failed, since what is undone on a
   * connection that was lost must not be said on it.
   *
   * @throws what the driver threw, when the work could not be kept or the connection was lost.
   */
  leave(keep: boolean, because?: unknown): Promise<void>;
}

const UNDO = Symbol("undo");

/** Enters a scope; `run` calls the body with the scope's handle and rolls back when the body throws. */
export async function hold<Handle>(
  run: (body: (handle: Handle) => Promise<void>) => Promise<unknown>,
): Promise<Held<Handle>> {
  const entered = Promise.withResolvers<Handle>();
  const left = Promise.withResolvers<void>();
  const outcome = run((handle) => {
    entered.resolve(handle);
    return left.promise;
  });
  outcome.catch(entered.reject);
  left.promise.catch(() => {});
  const handle = await entered.promise;
  return {
    handle,
    ended: outcome.then(() => {}, () => {}),
    async leave(keep, because = UNDO) {
      if (keep) left.resolve();
      else left.reject(because);
      try {
        await outcome;
      } catch (error) {
        if (error !== UNDO) throw error;
      }
    },
  };
}
