/**
 * Hands deliveries of `site: "task"` over by HTTP, to a serverless worker: a signed request per delivery, and what the
 * worker answers it with.
 *
 * ```ts no-run
 * import { deliverTask, type Outbox } from "@owed/outbox";
 * import { handleTaskRequest, httpTasks } from "@owed/outbox/http-tasks";
 *
 * declare const outbox: Outbox;
 * const secret = Deno.env.get("OWED_TASK_SECRET")!;
 * const tasks = httpTasks({ url: "https://worker.example/tasks", secret }); // createOutbox({ tasks, ... })
 * Deno.serve((request) => handleTaskRequest(request, { secret, work: (message) => deliverTask(outbox, message) }));
 * ```
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { TaskBackend, TaskMessage } from "../declaration/task.ts";
import { TaskRefused } from "../errors.ts";
import { errorType, logger } from "../log.ts";

const log = logger(["tasks"]);

/** The header that carries the signature: `t=<seconds>,v1=<hex of the HMAC-SHA256 of "<seconds>.<body>">`. */
export const SIGNATURE_HEADER = "owed-signature";

const MAX_BODY_BYTES = 4096;
const MAX_AGE_SECONDS = 300;

/** Options of {@linkcode httpTasks}. */
export interface HttpTasksOptions {
  /** Where the worker listens. */
  readonly url: string | URL;
  /** What both sides know; at least 16 characters. */
  readonly secret: string;
  /** For tests, or a proxy. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/**
 * A task backend that sends each message as a signed POST. Any 2xx answer means that the worker has taken it.
 *
 * @throws {TypeError} for a URL that is none, or a secret that is too short
 *
 * @example
 * ```ts
 * import { httpTasks } from "@owed/outbox/http-tasks";
 *
 * const tasks = httpTasks({ url: "https://worker.example/tasks", secret: "at least sixteen characters" });
 * console.log(typeof tasks.enqueue); // function
 * ```
 */
export function httpTasks(options: HttpTasksOptions): TaskBackend {
  const url = new URL(options.url);
  const secret = checkedSecret(options.secret);
  return {
    async enqueue(message, { signal }) {
      const body = JSON.stringify(message);
      const seconds = Math.floor(Date.now() / 1000);
      const response = await (options.fetch ?? fetch)(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          [SIGNATURE_HEADER]: `t=${seconds},v1=${signatureOf(secret, seconds, body)}`,
        },
        body,
        signal,
        redirect: "error",
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`Cannot hand a task over: the worker answered ${response.status}`);
    },
  };
}

/** Options of {@linkcode handleTaskRequest}. */
export interface TaskRequestOptions {
  /** What both sides know; at least 16 characters. */
  readonly secret: string;
  /** Runs one message, mostly `(message) => deliverTask(outbox, message)`. */
  readonly work: (message: TaskMessage) => Promise<unknown>;
  /**
   * The platform's way to let work go on behind the answer, such as `(promise) => ctx.waitUntil(promise)`: then the
   * answer is 202 at once. Default: the answer waits for the work, and the relay does not, once it has been taken.
   */
  readonly waitUntil?: (working: Promise<unknown>) => void;
}

/**
 * Answers a request of {@linkcode httpTasks}: 200 with what became of the delivery (or 202, with `waitUntil`), 401 for
 * a signature that is wrong or older than five minutes, 405, 413 and 400 for anything that is no task, 503 when it
 * could not be run (the lease brings the delivery back).
 *
 * @throws {TypeError} for a secret that is too short
 *
 * @example
 * ```ts
 * import { handleTaskRequest } from "@owed/outbox/http-tasks";
 *
 * const secret = "at least sixteen characters";
 * const request = new Request("https://worker.example/tasks", { method: "POST", body: "{}" });
 * const response = await handleTaskRequest(request, { secret, work: () => Promise.resolve("succeeded") });
 * console.log(response.status); // 401
 * ```
 */
export async function handleTaskRequest(request: Request, options: TaskRequestOptions): Promise<Response> {
  const secret = checkedSecret(options.secret);
  if (request.method !== "POST") {
    return Response.json({ error: "expected POST" }, { status: 405, headers: { allow: "POST" } });
  }
  const body = await bodyOf(request);
  if (body === undefined) return answer(400, { error: "the body broke off" });
  if (body === null) return answer(413, { error: "the body is too large to be a task" });
  if (!isSigned(request.headers.get(SIGNATURE_HEADER), secret, body)) return answer(401, { error: "wrong signature" });
  let message: TaskMessage;
  try {
    message = JSON.parse(body);
  } catch {
    return answer(400, { error: "the body is no JSON" });
  }
  const working = worked(message, options.work);
  if (options.waitUntil === undefined) return await working;
  options.waitUntil(working);
  return answer(202, {});
}

async function worked(message: TaskMessage, work: TaskRequestOptions["work"]): Promise<Response> {
  try {
    return answer(200, { status: await work(message) ?? null });
  } catch (error) {
    log.warn("a task request could not be worked ({error})", { error: errorType(error) });
    return error instanceof TaskRefused
      ? answer(400, { error: "the body is no task" })
      : answer(503, { error: "the task could not be run" });
  }
}

// Null for one that is too large, undefined for one that broke off.
async function bodyOf(request: Request): Promise<string | null | undefined> {
  const bytes = [];
  let length = 0;
  try {
    // Read as it comes, so that a large body is refused before it is in memory.
    for await (const chunk of request.body ?? []) {
      length += chunk.length;
      if (length > MAX_BODY_BYTES) return null;
      bytes.push(chunk);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(bytes).toString("utf8");
}

function signatureOf(secret: string, seconds: number, body: string): string {
  return createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
}

function isSigned(header: string | null, secret: string, body: string): boolean {
  const [, seconds, given] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header ?? "") ?? [];
  if (seconds === undefined || given === undefined) return false;
  if (Math.abs(Date.now() / 1000 - Number(seconds)) > MAX_AGE_SECONDS) return false;
  // In constant time, so that nobody learns the signature byte by byte.
  return timingSafeEqual(Buffer.from(signatureOf(secret, Number(seconds), body)), Buffer.from(given));
}

function checkedSecret(secret: string): string {
  if (typeof secret === "string" && secret.length >= 16) return secret;
  throw new TypeError("Cannot use the secret for tasks: it must be a string of at least 16 characters");
}

function answer(status: number, body: unknown): Response {
  return Response.json(body, { status });
}
