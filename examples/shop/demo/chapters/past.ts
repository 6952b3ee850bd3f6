import { deliverPending, fire } from "@owed/outbox";
import { importOrders } from "../../orders.ts";
import { claim, step } from "../claims.ts";
import { lastYearsOutbox, OrderPlaced as LastYearsOrderPlaced } from "../last_year.ts";
import { mail } from "../shop.ts";
import { debts, debtsOf, equal, events, order, type Stage } from "../stage.ts";

/** Events from before today's release, and from before the shop. Returns how many of them nobody was to hear of. */
export async function past(stage: Stage): Promise<number> {
  const { outbox, database } = stage;

  step("A row of last year's release is paid by today's", "events.ts");
  {
    const { cents: _, ...sold } = order("order-0");
    const old = lastYearsOutbox(outbox.storage);
    const id = String(await old.transaction((tx) => fire(tx, LastYearsOrderPlaced({ ...sold, total: "12.50" }))));
    const [written] = await outbox.storage.findEvents({ ids: [id] });
    const isOld = written?.version === 1 && JSON.parse(written.payload).total === "12.50";
    claim("order 0 was placed last year, when a price was text: its row is of version 1", isOld, written);
    mail.sent.length = 0;
    await deliverPending(outbox);
    const paid = Object.values(await debts(stage, id)).filter((debt) => debt?.status === "succeeded");
    claim("all three receivers that it is owed to are paid today", paid.length === 3, paid);
    const { text } = mail.sent[0] ?? {};
    claim("the receipt has its price, from cents", text === "Thank you for order order-0: 12.50", text);
    const [now] = await outbox.storage.findEvents({ ids: [id] });
    claim("the row itself is as it was written", now?.payload === written?.payload, now?.payload);
  }

  step("Old orders are imported, and nobody gets a receipt for them", "orders.ts");
  const imported = ["order-a", "order-b", "order-c"];
  {
    mail.sent.length = 0;
    await importOrders(outbox, imported.map(order), "import from the old shop");
    const fired = (await events(stage, "orders.placed")).filter(({ key }) => imported.includes(String(key)));
    claim("3 orders are imported, and their events are there", fired.length === 3, fired);
    const reasons = (await database.suppressions()).map(({ reason }) => reason);
    claim(
      "each row says why nobody heard of it",
      equal(reasons, imported.map(() => "import from the old shop")),
      reasons,
    );
    const owed = (await Promise.all(fired.map(({ id }) => debtsOf(stage, id)))).flat();
    claim("no debt was written, not even to the partners or the audit trail", owed.length === 0, owed);
    const delivered = await deliverPending(outbox);
    claim("and nothing was sent", mail.sent.length === 0 && equal(delivered, {}), [mail.sent, delivered]);
  }
  return imported.length;
}
