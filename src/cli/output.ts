import process from "node:process";

/** Writes a line of data to the standard output. Resolves when it is out, so that the process may exit. */
export async function give(text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(`${text}\n`, (error) => {
      // A reader that has seen enough (`| head`) is no failure.
      if (error && (error as { code?: unknown }).code !== "EPIPE") reject(error);
      else resolve();
    });
  });
}

/** Writes a line of talk to the standard error, at once. */
export function say(text: string): void {
  console.error(text);
}

/** Numbers and words in columns: the first to the left, the others to the right. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((cell, column) => column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)).join("  ");
  return all.map((row) => line(row).trimEnd()).join("\n");
}

/** A length of time for a human, in the two largest units: `3 d 4 h`, `12 s`. */
export function ageOf(seconds: number): string {
  const units = [["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]] as const;
  let rest = Math.max(0, Math.round(seconds));
  const parts = units.flatMap(([name, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count > 0 ? [`${count} ${name}`] : [];
  });
  return parts.slice(0, 2).join(" ") || "0 s";
}
