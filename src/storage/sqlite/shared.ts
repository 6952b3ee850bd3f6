import { Queue } from "./queue.ts";

/** What all storages over one database share in this process. */
export interface Shared {
  readonly queue: Queue;
  /** Called at each wake. */
  readonly listeners: Set<() => void>;
}

const byFile = new Map<string, { readonly shared: Shared; users: number }>();
const byClient = new WeakMap<object, Shared>();

/** Shared by every storage over the same file. `release` is called when a storage closes. */
export function sharedByFile(path: string): { readonly shared: Shared; readonly release: () => void } {
  const entry = byFile.get(path) ?? { shared: newShared(), users: 0 };
  byFile.set(path, entry);
  entry.users += 1;
  let released = false;
  const release = () => {
    if (released) return;
    released = true;
    entry.users -= 1;
    if (entry.users === 0) byFile.delete(path);
  };
  return { shared: entry.shared, release };
}

/** Shared by every storage over the same client: a database in memory, or a remote one. */
export function sharedByClient(client: object): Shared {
  const shared = byClient.get(client) ?? newShared();
  byClient.set(client, shared);
  return shared;
}

function newShared(): Shared {
  return { queue: new Queue(), listeners: new Set() };
}
