import type { Storage } from "../../../src/storage/storage.ts";

/** A row as the driver gives it. */
export type Row = Readonly<Record<string, unknown>>;

/** A new database, not migrated yet, with what a case needs to look behind the seam. */
export interface OpenDatabase extends AsyncDisposable {
  readonly storage: Storage;
  /** The same database over connections of its own, as another process has it. Absent where there can be but one. */
  readonly second?: Storage;
  /** The client that `storage` was given, which is no transaction. */
  readonly client: unknown;
  /** The name of a table, qualified and quoted. */
  table(name: string): string;
  /** Runs SQL beside the storage. */
  query(sql: string): Promise<Row[]>;
  /** Runs SQL on a transaction of the driver. */
  execute(client: unknown, sql: string): Promise<Row[]>;
  /** SQL that runs for a minute; absent where a statement cannot be left running. */
  readonly sleep?: string;
  /** Opens a transaction as users' code does, with the driver alone: commits, or rolls back when the work throws. */
  begin<R>(work: (client: unknown) => Promise<R>): Promise<R>;
  /** Makes the next delivery have this id. */
  nextDeliveryId(id: bigint): Promise<void>;
  /** Deletes the rows of all tables but those of the migrations. */
  clear(): Promise<void>;
}

/** Cases that cannot run, as `"verb: title"`, and why. */
export interface Skip {
  readonly reason: string;
  readonly tests: readonly string[];
}

/** What the suite runs on. */
export interface StorageHarness {
  readonly name: string;
  open(): Promise<OpenDatabase>;
  readonly skip?: readonly Skip[];
}
