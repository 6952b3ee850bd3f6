/**
 * The part of Standard Schema v1 that is used here, in our own types so that no dependency shows in the public API.
 * Any validator that implements the standard fits: zod, valibot, arktype and others.
 *
 * @see https://standardschema.dev
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The standard's properties. */
  readonly "~standard": {
    /** The version of the standard. */
    readonly version: 1;
    /** The validator's name. */
    readonly vendor: string;
    /** Validates an unknown value. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Types only; never there at run time. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** What a schema says of a value. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** One thing that does not fit. */
export interface SchemaIssue {
  /** The validator's text. It may quote the value, so it is never shown. */
  readonly message: string;
  /** Where. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What `fire` takes for an event of this schema. */
export type InputOf<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["input"];

/** What a receiver gets for an event of this schema. */
export type OutputOf<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["output"];
