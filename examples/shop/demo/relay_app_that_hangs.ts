/** The same for a relay that never gets to the end of a reservation: it is there to be killed. */
import process from "node:process";
import { openStorage } from "./database.ts";
import { hang } from "./hang.ts";
import { demoShop } from "./shop.ts";

export const outbox = demoShop(await openStorage(process.env), [hang]);
