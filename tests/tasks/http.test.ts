import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { createClient } from "@libsql/client";
import {
  deliverPending,
  deliverTask,
  event,
  fire,
  type Outbox,
  receiver,
  type TaskMessage,
  TaskRefused,
} from "../../mod.ts";
import { handleTaskRequest, httpTasks, SIGNATURE_HEADER } from "../../src/tasks/http.ts";
import { testOutbox } from "../../src/testing/mod.ts";
import { recordLogs } from "../suite/outbox/logs.ts";
import { waitFor } from "../support/wait_for.ts";

const secret = "correct horse battery staple";
const url = "https://worker.example/tasks";
const message: TaskMessage = { v: 1, deliveryId: "7", claimedBy: "box-1#ab", claimedAt: "1700000000000000" };
const never = () => assert.fail("it was worked");
const notAborted = { signal: new AbortController().signal };

/** How a request differs from the relay's own. */
interface Different {
  body?: string;
  by?: string;
  at?: number;
  over?: string;
  method?: string;
}

/** A signed request, as the relay makes it; any part can be another. */
function signed(different: Different = {}): Request {
  const { body = JSON.stringify(message), by = secret, at = Math.floor(Date.now() / 1000), method = "POST" } =
    different;
  const { over = body } = different;
  const signature = createHmac("sha256", by).update(`${at}.${over}`).digest("hex");
  return new Request(url, {
    method,
    headers: { [SIGNATURE_HEADER]: `t=${at},v1=${signature}` },
    ...(method === "POST" ? { body } : {}),
  });
}

const handle = (request: Request, work: (message: TaskMessage) => Promise<unknown> = never) =>
  handleTaskRequest(request, { secret, work });

describe("a task request", () => {
  it("is worked once its signature is right, and answered with what became of it", async () => {
    const worked: TaskMessage[] = [];
    const response = await handle(signed(), (message) => {
      worked.push(message);
      return Promise.resolve("succeeded");
    });
    assert.deepEqual([response.status, await response.json()], [200, { status: "succeeded" }]);
    assert.deepEqual(worked, [message]);
    const nothing = await handle(signed(), () => Promise.resolve(null));
    assert.deepEqual([nothing.status, await nothing.json()], [200, { status: null }]);
  });

  it("is what httpTasks sends", async () => {
    const worked: TaskMessage[] = [];
    const tasks = httpTasks({
      url,
      secret,
      fetch: async (input, init) =>
        await handle(new Request(input as URL, init), (message) => Promise.resolve(void worked.push(message))),
    });
    await tasks.enqueue(message, notAborted);
    assert.deepEqual(worked, [message]);
  });

  it("is refused with another secret, another body, another moment, or no signature", async () => {
    const now = Math.floor(Date.now() / 1000);
    const good = signed().headers.get(SIGNATURE_HEADER)!;
    const withHeader = (value: string) =>
      new Request(url, { method: "POST", headers: { [SIGNATURE_HEADER]: value }, body: JSON.stringify(message) });
    const refused = [
      signed({ by: "another secret of that length" }),
      signed({ over: JSON.stringify({ ...message, deliveryId: "8" }) }),
      new Request(url, { method: "POST", body: JSON.stringify(message) }),
      withHeader(""),
      withHeader(good.replace(`t=${now}`, `t=${now - 1}`).replace(`t=${now + 1}`, `t=${now}`)),
      withHeader(`${good.slice(0, -1)}${good.endsWith("0") ? "1" : "0"}`),
      withHeader(good.slice(0, -1)),
      withHeader(`${good}0`),
      withHeader(good.toUpperCase()),
      withHeader(good.replace("v1=", "v2=")),
      withHeader(`${good}, ${good}`),
    ];
    for (const request of refused) {
      const header = request.headers.get(SIGNATURE_HEADER);
      const response = await handle(request);
      assert.equal(response.status, 401, `${header}`);
      assert.deepEqual(await response.json(), { error: "wrong signature" });
    }
  });

  it("is refused once it is older than five minutes, or from further ahead than that", async () => {
    const now = Math.floor(Date.now() / 1000);
    const work = () => Promise.resolve(null);
    for (const [seconds, status] of [[-290, 200], [290, 200], [-310, 401], [310, 401]] as const) {
      assert.equal((await handle(signed({ at: now + seconds }), work)).status, status, `${seconds} s`);
    }
  });

  it("is refused when it is no POST, too large, no JSON, or no task", async () => {
    const foreign = () => Promise.reject(new TaskRefused("the message is of another version"));
    for (const method of ["GET", "PUT", "DELETE"]) {
      const response = await handle(signed({ method }));
      assert.deepEqual([response.status, response.headers.get("allow")], [405, "POST"]);
    }
    assert.equal((await handle(signed({ body: " ".repeat(4097) }))).status, 413);
    assert.equal((await handle(signed({ body: "{" }))).status, 400);
    assert.equal((await handle(signed({ body: "" }))).status, 400);
    assert.equal((await handle(signed({ body: "null" }), foreign)).status, 400);
  });

  it("a large body is not read to its end", async () => {
    let pulled = 0;
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pulled++;
        controller.enqueue(new Uint8Array(1024));
      },
      cancel: () => void (cancelled = true),
    });
    const response = await handle(new Request(url, { method: "POST", body, duplex: "half" } as RequestInit));
    assert.equal(response.status, 413);
    assert.ok(pulled < 20, `${pulled} chunks`);
    await waitFor(() => cancelled, { what: "the body to be given up" });
  });

  it("a body that breaks off is refused", async () => {
    const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error("reset")) });
    const response = await handle(new Request(url, { method: "POST", body, duplex: "half" } as RequestInit));
    assert.equal(response.status, 400);
  });

  it("is answered with 503 when it could not be run, which says nothing of why", async () => {
    const logs = await recordLogs();
    // A driver over HTTP throws a TypeError for a database that is away.
    for (const error of [new Error("password hunter2"), new TypeError("fetch failed")]) {
      const response = await handle(signed(), () => Promise.reject(error));
      assert.deepEqual([response.status, await response.json()], [503, { error: "the task could not be run" }]);
    }
    assert.equal(logs.lines("warning", "tasks").length, 2);
    assert.ok(!logs.everything.includes("hunter2"));
  });

  it("can be answered before it is worked, where the platform lets work go on", async () => {
    const gate = Promise.withResolvers<string>();
    const behind: Promise<unknown>[] = [];
    const options = {
      secret,
      work: () => gate.promise,
      waitUntil: (working: Promise<unknown>) => void behind.push(working),
    };
    assert.equal((await handleTaskRequest(signed(), options)).status, 202);
    assert.equal((await handleTaskRequest(signed({ by: "another secret of that length" }), options)).status, 401);
    assert.equal(behind.length, 1);
    gate.resolve("succeeded");
    await behind[0];
    const failing = { ...options, work: () => Promise.reject(new Error("down")) };
    assert.equal((await handleTaskRequest(signed(), failing)).status, 202);
    await behind[1]; // its failure is no unhandled rejection
  });

  it("a secret that is too short is refused on either side", async () => {
    for (const short of ["", "fifteen letters", undefined, 1234567890123456] as never[]) {
      assert.throws(() => httpTasks({ url, secret: short }), /at least 16 characters/);
      await assert.rejects(handleTaskRequest(signed(), { secret: short, work: never }), /at least 16 characters/);
    }
    assert.throws(() => httpTasks({ url: "not a url", secret }), TypeError);
  });
});

describe("httpTasks", () => {
  it("rejects for an answer that is no 2xx, a connection that fails, and an aborted signal", async () => {
    const answering = (status: number) =>
      httpTasks({ url, secret, fetch: () => Promise.resolve(new Response(null, { status })) });
    await answering(204).enqueue(message, notAborted);
    for (const status of [400, 401, 413, 500, 503]) {
      await assert.rejects(answering(status).enqueue(message, notAborted), new RegExp(`the worker answered ${status}`));
    }
    await assert.rejects(httpTasks({ url: "http://127.0.0.1:1", secret }).enqueue(message, notAborted));
    const signal = AbortSignal.abort(new Error("stop"));
    await assert.rejects(httpTasks({ url: "http://127.0.0.1:1", secret }).enqueue(message, { signal }));
  });

  it("does not follow a redirect with its signature", async () => {
    await using server = await serving(() => Promise.resolve(Response.redirect("http://127.0.0.1:1/", 307)));
    await assert.rejects(httpTasks({ url: server.url, secret }).enqueue(message, notAborted));
  });

  it("hands a delivery over to a worker behind a real server, which runs it once", async () => {
    const Order = event<{ orderId: number }>("orders.placed");
    const ran: number[] = [];
    const mail = receiver(Order, "mail", ({ orderId }) => ran.push(orderId), { site: "task" });
    const workers: Outbox[] = [];
    const requests: Request[] = [];
    await using server = await serving((request) => {
      requests.push(request.clone());
      return handleTaskRequest(request, { secret, work: (message) => deliverTask(workers[0]!, message) });
    });
    await using outbox = testOutbox({
      client: createClient({ url: ":memory:" }),
      receivers: [mail],
      tasks: httpTasks({ url: server.url, secret }),
    });
    workers.push(outbox);
    await outbox.transaction((tx) => fire(tx, Order({ orderId: 7 })));
    assert.deepEqual(await deliverPending(outbox), {});
    await waitFor(() => ran.length === 1, { what: "the worker" });
    await waitFor(async () => (await outbox.storage.findDeliveries({}))[0]!.status === "succeeded", {
      what: "its end",
    });
    // The same request once more, as a proxy that retries would send it.
    const [{ headers }, body] = [requests[0]!, await requests[0]!.text()];
    const again = await fetch(server.url, { method: "POST", headers, body });
    assert.deepEqual([again.status, await again.json(), ran], [200, { status: null }, [7]]);
  });
});

/** A real server of this runtime. */
async function serving(
  answer: (request: Request) => Promise<Response>,
): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const response = await answer(
      new Request(`http://127.0.0.1${incoming.url}`, {
        method: incoming.method ?? "GET",
        headers: incoming.headers as Record<string, string>,
        body: new Uint8Array(Buffer.concat(chunks)),
      }),
    );
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(await response.text());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
