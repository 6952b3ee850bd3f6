/** An object that throws at each look. */
const thorny = new Proxy({}, {
  get: () => {
    throw new Error("get");
  },
  getPrototypeOf: () => {
    throw new Error("getPrototypeOf");
  },
  has: () => {
    throw new Error("has");
  },
});

function withGetter(property: string): Error {
  return Object.defineProperty(new Error("hidden"), property, {
    get: () => {
      throw new Error("getter");
    },
  });
}

/** What careless code throws, by title. Reading, printing or storing any of them can fail. */
export const hostileErrors: Readonly<Record<string, unknown>> = {
  "undefined": undefined,
  "null": null,
  "a string": "just text",
  "a number": 0,
  "a bigint": 1n,
  "a symbol": Symbol("s"),
  "a function": () => {},
  "an object": { reason: "plain" },
  "an object without a prototype": Object.create(null),
  "an object that throws at each look": thorny,
  "an Error whose message throws": withGetter("message"),
  "an Error whose name throws": withGetter("name"),
  "an Error whose code throws": withGetter("code"),
  "an Error whose name is a symbol": Object.assign(new Error("x"), { name: Symbol("n") }),
  "an Error whose name is an object": Object.assign(new Error("x"), { name: { toString: () => 7n } }),
  "an Error whose message is a symbol": Object.assign(new Error(), { message: Symbol("m") }),
  "an Error without a constructor": Object.assign(new Error("x"), { name: "", constructor: undefined }),
  "an Error with NUL": new Error("a\0b"),
  "an Error with lone surrogates": new Error("a\ud800b\udc00"),
  "an Error with ten thousand characters": new Error("\u{1F680}".repeat(5000)),
  "an Error with a name of ten thousand characters": Object.assign(new Error("x"), { name: "n".repeat(10_000) }),
  "an AbortError": new DOMException("stopped", "AbortError"),
};
