import { DuplicateEvent, fire, outboxHealth } from "@owed/outbox";
import { PaymentReceived } from "../../events.ts";
import { placeOrder } from "../../orders.ts";
import { checkout, orderPage } from "../../pages.ts";
import { subscribe, unsubscribe } from "../../partners.ts";
import { receivePayment } from "../../payments.ts";
import { receiveGoods } from "../../stock.ts";
import { claim, step } from "../claims.ts";
import { IN_THE_MIDDLE } from "../hang.ts";
import { startRelay } from "../relay_process.ts";
import { DOWN } from "../shop.ts";
import { count, debts, equal, events, lampsLeft, order, partnersOf, type Stage, until } from "../stage.ts";

/** Paying debts, by relays in processes of their own, one of which is killed. Begins with what order 3 owes. */
export async function relays(stage: Stage, placed: string): Promise<void> {
  const { outbox, database: { sql, env } } = stage;

  step("A relay is killed in the middle of a delivery", "stock.ts");
  await using hanging = startRelay("./relay_app_that_hangs.ts", env);
  {
    const isHanging = await until(() => hanging.output.includes(IN_THE_MIDDLE));
    claim("it has reserved the stock and fired a child event, and recorded nothing yet", isHanging);
    const isUnseen = await count(stage, "reservations") === 0 && await lampsLeft(stage) === 10;
    claim("nobody else sees the reservation", isUnseen);
    claim("it is killed (SIGKILL)", await hanging.end("SIGKILL") === null);
    const { stock } = await debts(stage, placed);
    const isOwed = stock?.completedAt === null && stock.attempts === 0;
    claim("the stock is still owed, and no attempt was recorded that did not end", isOwed, stock);
  }

  await using relay = startRelay("./relay_app.ts", env);
  {
    const isPaid = await until(async () => (await debts(stage, placed)).stock?.status === "succeeded");
    const { stock } = await debts(stage, placed);
    claim("a second relay pays the debt once the lease of the first has lapsed", isPaid, stock?.status);
    const isOnce = await count(stage, "reservations") === 1 && await lampsLeft(stage) === 8;
    claim("the stock is reserved exactly once", isOnce);
    claim("the row tells it: one attempt, one lapse", stock?.attempts === 1 && stock.lapses === 1, stock);
    const { state } = await orderPage(outbox, "order-3", placed);
    claim("and now the customer's page says that order 3 is confirmed", state === "confirmed", state);
  }

  step("A child event names its parent", "stock.ts");
  {
    const [child, ...more] = await events(stage, "stock.reserved");
    claim("there is one stock.reserved: that of the killed attempt went with it", child !== undefined && !more.length);
    claim("order 3 caused it", child?.causationId === placed, child?.causationId);
    claim("and it belongs to the chain of order 3", child?.correlationId === placed, child?.correlationId);
  }

  step("A receiver that fails is retried, and troubles nobody else", "partners.ts");
  {
    await outbox.transaction((tx) => subscribe(tx, DOWN));
    const id = await outbox.transaction((tx) => placeOrder(tx, order("order-4")));
    await outbox.transaction((tx) => unsubscribe(tx, DOWN));
    await until(async () => (await partnersOf(stage, id)).get(DOWN)?.status === "dead");
    const debt = (await partnersOf(stage, id)).get(DOWN);
    const isDead = debt?.status === "dead" && debt.attempts === 3;
    claim("a partner whose server is down was called 3 times about order 4, and its debt is dead", isDead, debt);
    claim("its row says why", debt?.lastError === "Error: The partner answered 503", debt?.lastError);
    const isPaid = await until(async () => {
      const { stock, receipt, audit } = await debts(stage, id);
      return [stock, receipt, audit].every((debt) => debt?.status === "succeeded" && debt.attempts === 1);
    });
    claim("its siblings, stock, receipt and audit, succeeded at their first attempt", isPaid);
    const { receivers } = await outboxHealth(outbox);
    claim("the health names it", receivers.some(({ key, dead }) => key === "partners.notify" && dead === 1), receivers);
  }

  step("An event says who did it, and what is done about it later still knows", "pages.ts");
  {
    const page = await checkout(outbox, { id: "7", name: "Grace" }, order("order-5"));
    claim("the page waited for the relay, and says that order 5 is confirmed", page.state === "confirmed", page);
    const [row] = await outbox.storage.findEvents({ ids: [page.eventId] });
    const isNamed = row?.actor === "user:7" && row.actorLabel === "Grace";
    claim("its event names user 7, who was Grace then", isNamed, [row?.actor, row?.actorLabel]);
    claim("and the facts of the request", equal(JSON.parse(row?.scope ?? "null"), { channel: "web" }), row?.scope);
    await until(async () => (await debts(stage, page.eventId)).audit?.status === "succeeded");
    const [audited] = await sql`select actor from audit_trail where event_id = ${page.eventId}`;
    claim("the audit trail, written by the relay's process, names user 7 too", audited?.actor === "user:7", audited);
  }

  step("The payment service calls twice", "payments.ts");
  {
    const notice = { noticeId: "notice-77", orderId: "order-3", cents: 4900 };
    const first = await receivePayment(outbox, notice);
    const second = await receivePayment(outbox, notice);
    claim("the first call is an event, though no transaction was open around it", first !== null, first);
    claim("the second finds its dedupe key taken, and gets the id of the first", second === first, [first, second]);
    const error = await fire(outbox, PaymentReceived({ orderId: "order-3", cents: 4900 }), { dedupeKey: "notice-77" })
      .catch((error) => error);
    const named = error instanceof DuplicateEvent ? error.existingId : error;
    claim("or, if it asks for it, an error that has that id", named === first, named);
    await until(async () => (await debts(stage, first)).credit?.status === "succeeded");
    const [row] = await sql`select paid_cents from orders where order_id = 'order-3'`;
    claim("order 3 is paid, and once", row?.paid_cents === 4900, row);
  }

  step("A lorry arrives with 200 goods", "stock.ts");
  {
    const goods = Array.from({ length: 200 }, (_, index) => ({ sku: `sku-${index}`, quantity: 1 + index }));
    const ids = await outbox.transaction((tx) => receiveGoods(tx, goods));
    const stored = await outbox.storage.findEvents({ ids: ids.map(String) });
    const skus = stored.map(({ payload }) => JSON.parse(payload).sku);
    const inOrder = equal(skus, goods.map(({ sku }) => sku));
    claim("200 events were fired at once, and stand in the order of the goods", inOrder);
    claim("the relay has paid for all of them", await until(async () => (await outboxHealth(outbox)).owed === 0));
    claim("it ends by itself when it is asked to (SIGTERM)", await relay.end("SIGTERM") === 0);
  }
}
