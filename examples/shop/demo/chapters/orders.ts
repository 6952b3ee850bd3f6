import { orderPage } from "../../pages.ts";
import { OverLimit, placeOrder } from "../../orders.ts";
import { claim, step } from "../claims.ts";
import { mail } from "../shop.ts";
import { count, debts, events, order, type Stage } from "../stage.ts";

/** Placing orders, before any relay runs. Returns the event of order 3. */
export async function orders(stage: Stage): Promise<string> {
  const { outbox } = stage;

  step("An order and its event commit together, or not at all", "orders.ts");
  {
    const error = await outbox.transaction(async (tx) => {
      await placeOrder(tx, order("order-1"));
      throw new Error("card declined");
    }).catch((error) => error);
    claim("the card was declined after order 1 was written and its event fired", error.message === "card declined");
    claim("order 1 is not there", await count(stage, "orders") === 0);
    claim("nor is its event: nobody will ever hear of it", (await events(stage, "orders.placed")).length === 0);
  }

  step("An inline receiver has a veto, and catching its error does not help", "orders.ts");
  {
    const error = await outbox.transaction(async (tx) => {
      await placeOrder(tx, { ...order("order-2"), cents: 5_000_000 }).catch(() => "never mind");
    }).catch((error) => error);
    claim("order 2 is over the limit, and its transaction cannot commit", error instanceof OverLimit, error?.message);
    claim("order 2 is not there", await count(stage, "orders") === 0);
    claim("nor is its event", (await events(stage, "orders.placed")).length === 0);
  }

  const placed = String(await outbox.transaction((tx) => placeOrder(tx, order("order-3"))));

  step("An eager receiver is attempted right at the commit", "receipts.ts");
  {
    const { receipt, stock } = await debts(stage, placed);
    claim("order 3 is placed, and its receipt is sent already", mail.sent.length === 1, mail.sent);
    claim("the debt for it is paid, though no relay runs yet", receipt?.status === "succeeded", receipt?.status);
    claim("the stock is still owed: that is for a relay", stock?.status === "pending", stock?.status);
    const { state } = await orderPage(outbox, "order-3", placed);
    claim(
      "the customer's page waits for it a moment, and then says that it is processing",
      state === "processing",
      state,
    );
  }
  return placed;
}
