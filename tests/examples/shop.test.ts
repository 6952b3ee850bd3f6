import assert from "node:assert/strict";
import { it } from "node:test";
import { createClient } from "@libsql/client";
import { deliverPending, type Outbox, PermanentFailure } from "@owed/outbox";
import { libsqlStorage } from "@owed/outbox/libsql";
import { replaceReceiver } from "@owed/outbox/testing";
import { importOrders, placeOrder } from "../../examples/shop/orders.ts";
import { outbox as shop, type ShopOptions } from "../../examples/shop/outbox.ts";
import { orderPage } from "../../examples/shop/pages.ts";
import { subscribe } from "../../examples/shop/partners.ts";
import { createTables } from "../../examples/shop/schema.ts";

const order = { orderId: "1", customer: "ada@example.com", sku: "lamp", quantity: 1, cents: 4900 };
const partner = "https://partner.example/orders";

async function open(options: ShopOptions = {}): Promise<Outbox> {
  const outbox = shop(libsqlStorage(createClient({ url: ":memory:" })), {
    mailer: { send: () => Promise.resolve() },
    ...options,
  });
  await outbox.storage.migrate();
  await createTables(outbox);
  return outbox;
}

async function place(outbox: Outbox): Promise<string> {
  return String(await outbox.transaction((tx) => placeOrder(tx, order)));
}

it("the page of an order says what its row says: processing, confirmed, or held up", async () => {
  await using outbox = await open();
  const first = await place(outbox);
  assert.equal((await orderPage(outbox, "1", first)).state, "processing");
  await deliverPending(outbox);
  assert.equal((await orderPage(outbox, "1", first)).state, "confirmed");

  using _ = replaceReceiver(outbox, "stock.reserve", () => {
    throw new PermanentFailure("there is no such lamp");
  });
  const second = String(await outbox.transaction((tx) => placeOrder(tx, { ...order, orderId: "2" })));
  await deliverPending(outbox);
  assert.equal((await orderPage(outbox, "2", second)).state, "held up");
});

it("the page of an order does not take a broken database for a slow relay", async () => {
  await using outbox = await open();
  const eventId = await place(outbox);
  outbox.storage.findDeliveries = () => Promise.reject(new Error("the database is gone"));
  await assert.rejects(orderPage(outbox, "1", eventId), /the database is gone/);
});

it("the page of an imported order waits for nothing", async () => {
  await using outbox = await open();
  await importOrders(outbox, [order], "import");
  const [{ id } = assert.fail()] = await outbox.storage.findEvents({});
  assert.equal((await orderPage(outbox, "1", id)).state, "confirmed");
});

for (
  const { answer, headers, error } of [
    { answer: "no time", headers: {}, error: /^Error: The partner answered 429$/ },
    { answer: "no seconds", headers: { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }, error: /wait of RetryAfter/ },
  ]
) {
  it(`a partner that is busy and names ${answer} is asked again by the ordinary curve`, async () => {
    await using outbox = await open({ http: () => Promise.resolve(new Response(null, { status: 429, headers })) });
    await outbox.transaction((tx) => subscribe(tx, partner));
    const eventId = await place(outbox);
    await deliverPending(outbox, { limit: 10 });
    const rows = await outbox.storage.findDeliveries({ eventId });
    const row = rows.find(({ target }) => target === partner);
    assert.deepEqual([row?.status, row?.attempts], ["failed", 1]);
    assert.match(String(row?.lastError), error);
  });
}
