import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

/** A libSQL server as far as `@libsql/client` needs one: Hrana 2 over HTTP, in front of a SQLite file. */
export interface HranaServer extends AsyncDisposable {
  readonly url: string;
  /** Requests answered so far: round trips. */
  readonly requests: number;
}

/** Serves the file on a free port, or on `port`. */
export async function startHrana(file: string, port = 0): Promise<HranaServer> {
  const streams = new Map<string, Stream>();
  let requests = 0;
  const server: Server = createServer(async (request, response) => {
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    if (request.method === "GET") return answer(request.url === "/v2" ? 200 : 404, {});
    const { baton, requests: asked } = JSON.parse(await textOf(request)) as Pipeline;
    requests += 1;
    const stream = baton ? streams.get(baton) : new Stream(file);
    if (!stream) return answer(400, { message: "the stream has expired", code: "STREAM_EXPIRED" });
    if (baton) streams.delete(baton);
    const results = asked.map((each) => stream.answer(each));
    if (stream.isClosed) return answer(200, { baton: null, base_url: null, results });
    const next = randomUUID();
    streams.set(next, stream);
    answer(200, { baton: next, base_url: null, results });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return requests;
    },
    async [Symbol.asyncDispose]() {
      for (const stream of streams.values()) stream.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Pipeline {
  readonly baton: string | null;
  readonly requests: readonly HranaRequest[];
}

interface HranaStatement {
  readonly sql?: string;
  readonly sql_id?: number;
  readonly args?: readonly HranaValue[];
}

interface HranaValue {
  readonly type: "null" | "integer" | "float" | "text" | "blob";
  readonly value?: string | number;
  readonly base64?: string;
}

interface Condition {
  readonly type: "ok" | "error" | "not" | "and" | "or" | "is_autocommit";
  readonly step?: number;
  readonly cond?: Condition;
  readonly conds?: readonly Condition[];
}

interface HranaRequest {
  readonly type: string;
  readonly stmt?: HranaStatement;
  readonly batch?: { readonly steps: readonly { readonly stmt: HranaStatement; readonly condition?: Condition }[] };
  readonly sql?: string;
  readonly sql_id?: number;
}

const CODES: Readonly<Record<number, string>> = {
  1: "SQLITE_ERROR",
  5: "SQLITE_BUSY",
  8: "SQLITE_READONLY",
  13: "SQLITE_FULL",
  19: "SQLITE_CONSTRAINT",
};

/** One connection, which a client keeps through its baton. */
class Stream {
  readonly #database: DatabaseSync;
  readonly #texts = new Map<number, string>();
  isClosed = false;

  constructor(file: string) {
    this.#database = new DatabaseSync(file);
    this.#database.exec("pragma busy_timeout = 0; pragma journal_mode = wal; pragma synchronous = off");
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (this.#database.isTransaction) this.#database.exec("rollback");
    this.#database.close();
  }

  answer(request: HranaRequest): unknown {
    try {
      return { type: "ok", response: { type: request.type, ...this.#perform(request) } };
    } catch (error) {
      return { type: "error", error: errorOf(error) };
    }
  }

  #perform(request: HranaRequest): object {
    switch (request.type) {
      case "close":
        this.close();
        return {};
      case "execute":
        return { result: this.#run(request.stmt!) };
      case "batch":
        return { result: this.#runBatch(request.batch!.steps) };
      case "sequence":
        this.#database.exec(request.sql ?? this.#texts.get(request.sql_id!)!);
        return {};
      case "store_sql":
        this.#texts.set(request.sql_id!, request.sql!);
        return {};
      case "close_sql":
        this.#texts.delete(request.sql_id!);
        return {};
      case "get_autocommit":
        return { is_autocommit: !this.#database.isTransaction };
      default:
        throw new Error(`No such request: ${request.type}`);
    }
  }

  #runBatch(steps: readonly { readonly stmt: HranaStatement; readonly condition?: Condition }[]): object {
    const results: unknown[] = [];
    const errors: unknown[] = [];
    for (const { stmt, condition } of steps) {
      const step = results.push(null) - 1;
      errors.push(null);
      if (condition && !this.#holds(condition, results, errors)) continue;
      try {
        results[step] = this.#run(stmt);
      } catch (error) {
        errors[step] = errorOf(error);
      }
    }
    return { step_results: results, step_errors: errors };
  }

  #holds(condition: Condition, results: readonly unknown[], errors: readonly unknown[]): boolean {
    const holds = (each: Condition) => this.#holds(each, results, errors);
    switch (condition.type) {
      case "ok":
        return results[condition.step!] !== null;
      case "error":
        return errors[condition.step!] !== null;
      case "not":
        return !holds(condition.cond!);
      case "and":
        return condition.conds!.every(holds);
      case "or":
        return condition.conds!.some(holds);
      case "is_autocommit":
        return !this.#database.isTransaction;
    }
  }

  #run({ sql, sql_id, args = [] }: HranaStatement): object {
    const statement = this.#database.prepare(sql ?? this.#texts.get(sql_id!)!);
    statement.setReadBigInts(true);
    const columns = statement.columns();
    const rows = statement.all(...args.map(decoded)) as Record<string, unknown>[];
    return {
      cols: columns.map(({ name, type }) => ({ name, decltype: type ?? null })),
      rows: rows.map((row) => columns.map(({ name }) => encoded(row[name]))),
      affected_row_count: 0,
      last_insert_rowid: null,
    };
  }
}

function decoded({ type, value, base64 }: HranaValue): SQLInputValue {
  switch (type) {
    case "null":
      return null;
    case "integer":
      return BigInt(value!);
    case "blob":
      return Buffer.from(base64!, "base64");
    default:
      return value!;
  }
}

function encoded(value: unknown): HranaValue {
  if (value === null || value === undefined) return { type: "null" };
  if (typeof value === "bigint") return { type: "integer", value: value.toString() };
  if (typeof value === "number") return { type: "float", value };
  if (typeof value === "string") return { type: "text", value };
  return { type: "blob", base64: Buffer.from(value as Uint8Array).toString("base64").replace(/=+$/, "") };
}

function errorOf(error: unknown): { message: string; code: string } {
  const { message, errcode, code } = error as { message: string; errcode?: number; code?: unknown };
  const primary = (errcode ?? (typeof code === "number" ? code : 1)) & 255;
  const known = /locked|busy/.test(message) ? 5 : primary;
  return { message, code: CODES[known] ?? "SQLITE_UNKNOWN" };
}

async function textOf(request: IncomingMessage): Promise<string> {
  request.setEncoding("utf8"); // a character may lie in two chunks
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}
