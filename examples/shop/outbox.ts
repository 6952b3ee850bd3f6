import { createOutbox, type Outbox, type Receiver, type Settings, type Storage } from "@owed/outbox";
import { auditTrail } from "./audit.ts";
import { StockArrived, StockReserved } from "./events.ts";
import type { Mailer } from "./mailer.ts";
import { expireOffer, mailOffer } from "./offers.ts";
import { checkLimit } from "./orders.ts";
import { type Http, notifyPartners } from "./partners.ts";
import { creditOrder } from "./payments.ts";
import { emailReceipt } from "./receipts.ts";
import { reserveStock } from "./stock.ts";

export interface ShopOptions {
  /** Sends the mail. Default: prints it. */
  mailer?: Mailer;
  /** Calls the partners. Default: `fetch`. */
  http?: Http;
  settings?: Settings;
  /** Listens too. */
  more?: Receiver[];
}

/** The one place that says who listens: the same in the process that fires and in the relay. */
export function outbox(storage: Storage, options: ShopOptions = {}): Outbox {
  const { mailer = printer, http = fetch, settings = {}, more = [] } = options;
  return createOutbox({
    app: "shop",
    storage,
    settings,
    receivers: [
      checkLimit,
      reserveStock,
      emailReceipt(mailer),
      notifyPartners(http),
      creditOrder,
      mailOffer(mailer),
      expireOffer,
      auditTrail,
      ...more,
    ],
    // Events that none of these names; the audit trail hears them all the same.
    events: [StockReserved, StockArrived],
  });
}

const printer: Mailer = {
  send: ({ to, text }) => Promise.resolve(console.log(`mail to ${to}: ${text}`)),
};
