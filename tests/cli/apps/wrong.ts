export const outbox = () => ({ hello: "world" });
