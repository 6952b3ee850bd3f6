import type { Migration, Renewal } from "../storage.ts";
import type { OpenTransaction, Place, Row, SqliteClient, Statement } from "./clients/client.ts";
import { explained, type Explaining, hasNoConnection, isBusy, stayedBusy } from "./failures.ts";
import { Leases, moment } from "./leases.ts";
import { type AppliedMigration, checksumOf, createMigrations, migrationsFor, missingOf } from "./migrations.ts";
import { type Names, namesOf } from "./names.ts";
import { untilFree } from "./patience.ts";
import type { Leave } from "./queue.ts";
import { claimKeysOf, jsonOf } from "./rows.ts";
import { type Shared, sharedByClient, sharedByFile } from "./shared.ts";
import { type Statements, statementsFor } from "./statements.ts";
import { renewalsText } from "./values.ts";

/** A transaction of ours: the queue is held until it ends. */
export interface OwnTransaction<Tx> {
  readonly open: OpenTransaction<Tx>;
  /** Renews this process's leases with it, commits, and leaves the queue. */
  commit(): Promise<void>;
  /** Rolls back and leaves the queue. Never throws. */
  rollback(): Promise<void>;
  /** Runs the work that the transaction is for. */
  during<R>(work: () => Promise<R>): Promise<R>;
}

interface Ready<Tx> {
  readonly client: SqliteClient<Tx>;
  readonly place: Place;
  readonly shared: Shared;
  readonly release: () => void;
}

/** What a database is made from. */
export interface DatabaseOptions {
  readonly prefix: string;
  readonly storage: string;
  readonly address: string | undefined;
}

/** A file that is in use stays in its mode; the next process tries again. */
const MODE_PATIENCE_MS = 500;

/** One database: its client, its queue, and the waiting for its lock. Knows no verb. */
export class Database<Tx> {
  readonly names: Names;
  readonly sql: Statements;
  readonly migrations: readonly Migration[];
  readonly leases: Leases = new Leases();
  readonly #makeClient: (lock: string) => SqliteClient<Tx>;
  readonly #options: DatabaseOptions;
  #client: SqliteClient<Tx> | undefined;
  #found: Promise<Ready<Tx>> | undefined;
  #ready: Promise<Ready<Tx>> | undefined;
  #place: Place | undefined;

  constructor(makeClient: (lock: string) => SqliteClient<Tx>, options: DatabaseOptions) {
    this.names = namesOf(options.prefix);
    this.sql = statementsFor(this.names);
    this.migrations = migrationsFor(this.names);
    this.#makeClient = makeClient;
    this.#options = options;
  }

  /** The driver's client, made at first need. */
  get client(): SqliteClient<Tx> {
    return this.#client ??= this.#makeClient(this.sql.lock);
  }

  /** Where the database is, once that is known. */
  get place(): Place | undefined {
    return this.#place;
  }

  /** Finds out where the database is; changes nothing. */
  async locate(): Promise<Place> {
    return this.#place ??= await untilFree(() => this.client.locate(), this.#givenUp("open"));
  }

  /** The database and its queue; one in memory is migrated, since it begins with its process. */
  ready(): Promise<Ready<Tx>> {
    this.#ready ??= this.#setUp().catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #setUp(): Promise<Ready<Tx>> {
    const found = await this.#find();
    if (found.place.kind === "memory") await this.#migrate(found);
    return found;
  }

  #find(): Promise<Ready<Tx>> {
    this.#found ??= this.#open().catch((error) => {
      this.#found = undefined;
      throw error;
    });
    return this.#found;
  }

  async #open(): Promise<Ready<Tx>> {
    try {
      const client = this.client;
      const place = await this.locate();
      if (place.kind === "file") await this.#useWriteAheadLog(client);
      const { shared, release } = place.kind === "file"
        ? sharedByFile(place.path)
        : { shared: sharedByClient(client.identity), release: () => {} };
      return { client, place, shared, release };
    } catch (error) {
      throw this.#explained("open", error);
    }
  }

  /** The mode stays with the file. Without it readers and writers shut each other out, but all still works. */
  async #useWriteAheadLog(client: SqliteClient<Tx>): Promise<void> {
    const ask = () => client.read({ sql: "pragma journal_mode", args: [] });
    const [row] = await untilFree(ask, this.#givenUp("open"));
    if (String(Object.values(row ?? {})[0]).toLowerCase() === "wal") return;
    // A script leaves nothing behind on the connection when the file is busy or may not be written.
    const change = () => client.script("pragma journal_mode = wal");
    await untilFree(change, this.#givenUp("open"), MODE_PATIENCE_MS).catch(() => {});
  }

  /** Reads one statement. Takes no lock, and waits for the queue only where the connection cannot be shared. */
  async read(statement: Statement): Promise<Row[]> {
    return await this.#read(await this.ready(), statement);
  }

  async #read({ client, place, shared }: Ready<Tx>, statement: Statement): Promise<Row[]> {
    const read = () => untilFree(() => client.read(statement), this.#givenUp("read"));
    try {
      if (place.kind === "memory") return await shared.queue.run(read);
      return await client.read(statement).catch((error) => {
        // Where a file's client has but one connection, it is with the transaction that holds the queue.
        if (hasNoConnection(error)) return shared.queue.run(read);
        if (isBusy(error)) return read();
        throw error;
      });
    } catch (error) {
      throw this.#explained("read", error);
    }
  }

  /** Runs statements in one write transaction, and renews this process's leases with it. */
  async write(statements: readonly Statement[]): Promise<Row[][]> {
    const { client, shared } = await this.ready();
    const began = moment();
    const leave = await shared.queue.enter();
    try {
      const renewals = this.leases.due(began);
      const all = renewals.length === 0 ? statements : [...statements, this.renewal(renewals)];
      const results = await untilFree(() => client.batch(all), this.#givenUp("write to"));
      if (renewals.length > 0) this.leases.renewed(renewals, claimKeysOf(results[statements.length]!));
      return results;
    } catch (error) {
      throw this.#explained("write to", error);
    } finally {
      leave();
    }
  }

  /** Opens a write transaction when its turn has come, and holds the queue until it ends. */
  async begin(setUp?: string): Promise<OwnTransaction<Tx>> {
    return await this.#begin(await this.ready(), setUp);
  }

  async #begin({ client, shared }: Ready<Tx>, setUp?: string): Promise<OwnTransaction<Tx>> {
    const leave = await shared.queue.enter();
    const began = moment();
    try {
      const open = await untilFree(() => client.begin(setUp), this.#givenUp("write to"));
      return {
        open,
        commit: () => this.#commit(open, began, leave),
        during: (work) => shared.queue.holding(work),
        rollback: async () => {
          await open.rollback();
          leave();
        },
      };
    } catch (error) {
      leave();
      throw this.#explained("write to", error);
    }
  }

  async #commit(open: OpenTransaction<Tx>, began: number, leave: Leave): Promise<void> {
    try {
      await this.renewDue(open, began);
      // Busy at this point is a reader, where the file has no write-ahead log: the transaction is still there.
      await untilFree(() => open.commit(), this.#givenUp("write to"));
    } catch (error) {
      throw this.#explained("write to", error);
    }
    leave();
  }

  /** Renews what is due for it inside a transaction that began then. */
  async renewDue(open: OpenTransaction, began: number): Promise<void> {
    const renewals = this.leases.due(began);
    if (renewals.length === 0) return;
    const [rows] = await open.run([this.renewal(renewals)]);
    this.leases.renewed(renewals, claimKeysOf(rows!));
  }

  /** The statement that renews leases. */
  renewal(renewals: readonly Renewal[], now: bigint | null = null): Statement {
    return { sql: this.sql.renew, args: [renewalsText(renewals), now] };
  }

  /** Holds the queue while somebody else's code uses the database. */
  async yielding<R>(work: () => Promise<R>): Promise<R> {
    const { client, shared } = await this.ready();
    return await shared.queue.run(async () => {
      const began = moment();
      try {
        return await shared.queue.holding(work);
      } finally {
        // Their commit is behind us; before anybody else of this process, what it kept waiting is renewed.
        const renewals = this.leases.due(began);
        if (renewals.length > 0) {
          const renewed = await client.batch([this.renewal(renewals)]).catch(() => undefined);
          if (renewed) this.leases.renewed(renewals, claimKeysOf(renewed[0]!));
        }
      }
    });
  }

  /** Applies what is missing. */
  async migrate(): Promise<Migration[]> {
    return await this.#migrate(await this.#find());
  }

  async #migrate(ready: Ready<Tx>): Promise<Migration[]> {
    // The table is made under the write lock that the whole transaction keeps: of ten processes one goes first.
    const tx = await this.#begin(ready, `${createMigrations(this.names)}; ${this.sql.lock}`);
    try {
      const [rows] = await tx.open.run([{ sql: this.sql.appliedMigrations, args: [] }]);
      const missing = missingOf(this.migrations, rows!.map(appliedOf), this.#options.storage);
      for (const migration of missing) {
        const { version, name } = migration;
        await tx.open.script(migration.sql);
        const args = [BigInt(version), name, checksumOf(migration)];
        await tx.open.run([{ sql: this.sql.recordMigration, args }]);
      }
      await tx.commit();
      return missing;
    } catch (error) {
      await tx.rollback();
      throw this.#explained("migrate", error);
    }
  }

  /** What is missing. */
  async pendingMigrations(): Promise<Migration[]> {
    const table = `${this.#options.prefix}migrations`;
    const found = await this.#find();
    // In memory the schema is made at the first use: this may be it.
    if (found.place.kind === "memory") {
      await this.ready();
      return [];
    }
    const known = await this.#read(found, { sql: this.sql.schemaOf, args: [table] });
    const applied = known.length === 0 ? [] : await this.#read(found, { sql: this.sql.appliedMigrations, args: [] });
    return missingOf(this.migrations, applied.map(appliedOf), this.#options.storage);
  }

  /** Leaves the database to others; `closesClient` when a factory had made the client. */
  async close(closesClient: boolean): Promise<void> {
    const found = await this.#found?.catch(() => undefined);
    if (found && closesClient) await found.shared.queue.run(() => Promise.resolve(found.client.close()));
    found?.release();
    this.#found = this.#ready = undefined;
    if (closesClient) this.#client = undefined;
  }

  #givenUp(what: string): (waitedMs: number, cause: unknown) => Error {
    return (waitedMs, cause) => stayedBusy(what, this.#address(), waitedMs, cause);
  }

  /** The error that says what to do. */
  explained(error: unknown): unknown {
    return this.#explained("write to", error);
  }

  #explained(what: string, error: unknown): unknown {
    const { storage, prefix } = this.#options;
    const explaining: Explaining = { what, address: this.#address(), storage, prefix, migrations: this.migrations };
    return explained(error, explaining);
  }

  #address(): string {
    const { address } = this.#options;
    if (address !== undefined) return address;
    const place = this.#place;
    return place?.kind === "file" ? place.path : place?.kind === "memory" ? ":memory:" : "its URL";
  }
}

function appliedOf(row: Row): AppliedMigration {
  return jsonOf(row) as unknown as AppliedMigration;
}
