/** What the first word of a command line can be. Any other begins a `run`. */
export const commandNames: readonly string[] = ["run", "migrate", "status", "completion"];
