/**
 * A handle on somebody's transaction that stops working when its time is over. Drivers would let a receiver that has
 * returned go on writing on a connection that serves another transaction by then; a guarded handle refuses.
 */
/** What a guarded handle asks before each use, and what it tells. */
export interface GuardState {
  /** Why the handle must not be used any more, or null while it may be. */
  refusal: string | null;
  /** Hears each statement that was rejected, whether or not the user's code handles the rejection. */
  failed(error: unknown): void;
  /** Where the savepoints are noted that the user's code opens by the driver; absent where a driver has none. */
  readonly scopes?: ScopeKeeper;
}

/** Keeps the driver's savepoints from outliving their transaction. */
export interface ScopeKeeper {
  /** Notes what the driver gave for a savepoint, and gives it back. */
  opened<Scope>(scope: Scope): Scope;
  /** Runs a savepoint's callback; it may never settle once the transaction has ended. */
  keep<R>(work: () => R | Promise<R>): Promise<R>;
}

/** Methods that hand a nested handle to a callback; what fails in there is undone by the driver, and is not told. */
const SCOPES: ReadonlySet<PropertyKey> = new Set(["savepoint"]);

/** Methods by which a promise is observed; a lazy query runs at its first observation. */
const OBSERVERS: ReadonlySet<PropertyKey> = new Set(["then", "catch", "finally"]);

// deno-lint-ignore ban-types
type Callable = Function;

/** The client, with every method call and every tagged template subject to `state`. */
export function guard<Client extends object>(client: Client, state: GuardState): Client {
  const methods = new Map<PropertyKey, { readonly of: Callable; readonly method: Callable }>();
  const proxy: Client = new Proxy(client, {
    apply(target, self, args) {
      admit(state);
      return watched(Reflect.apply(target as unknown as Callable, self, args), state);
    },
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function" || property === "constructor") return value;
      const known = methods.get(property);
      if (known?.of === value) return known.method;
      const method = (...args: unknown[]): unknown => {
        admit(state);
        if (SCOPES.has(property)) {
          const scope: unknown = Reflect.apply(value, target, args.map((arg) => nested(arg, state)));
          return state.scopes ? state.scopes.opened(scope) : scope;
        }
        const result: unknown = Reflect.apply(value, target, args);
        return result === target ? proxy : watched(result, state);
      };
      methods.set(property, { of: value, method });
      return method;
    },
  });
  return proxy;
}

function admit(state: GuardState): void {
  if (state.refusal !== null) throw new TypeError(state.refusal);
}

/** A callback whose first argument, the nested handle, is guarded too. */
function nested(argument: unknown, state: GuardState): unknown {
  if (typeof argument !== "function") return argument;
  const scope = scopeOf(state);
  return (handle: object, ...rest: unknown[]): unknown => {
    const work = (): unknown => argument(guard(handle, scope), ...rest);
    return state.scopes ? state.scopes.keep(work) : work();
  };
}

/** The state of what is under a savepoint: what fails there is undone with it, and is no failure of the transaction's. */
export function scopeOf(state: GuardState): GuardState {
  return {
    get refusal() {
      return state.refusal;
    },
    failed: () => {},
    ...state.scopes && { scopes: state.scopes },
  };
}

/** Tells of a rejection; a query that runs only when it is observed stays subject to the state until then. */
function watched(result: unknown, state: GuardState): unknown {
  if (!(result instanceof Promise)) return result;
  // The plain `then` hears the outcome without starting a lazy query.
  Promise.prototype.then.call(result, undefined, (error) => state.failed(error));
  return Object.getPrototypeOf(result) === Promise.prototype ? result : lazily(result, state);
}

function lazily<Query extends Promise<unknown>>(query: Query, state: GuardState): Query {
  const proxy: Query = new Proxy(query, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function" || property === "constructor") return value;
      return (...args: unknown[]): unknown => {
        if (state.refusal !== null && OBSERVERS.has(property)) {
          // The plain method: the query's own would start it, and leaves the rejection with nobody to hear it.
          const plain: Callable = Reflect.get(Promise.prototype, property);
          return Reflect.apply(plain, Promise.reject(new TypeError(state.refusal)), args);
        }
        admit(state);
        const result: unknown = Reflect.apply(value, target, args);
        return result === target ? proxy : result;
      };
    },
  });
  return proxy;
}
