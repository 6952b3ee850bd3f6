import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MOVES } from "../../src/storage/states.ts";
import { stateChart, withStateChart } from "../../tools/state_chart.ts";
import { readText } from "./source_files.ts";

describe("the chart of the states", () => {
  it("in the README is that of src/storage/states.ts", () => {
    const readme = readText("README.md");
    assert.equal(readme, withStateChart(readme), "Run `deno run -A tools/state_chart.ts`");
  });

  it("shows every move", () => {
    const chart = stateChart();
    for (const { from, verb, to } of MOVES) {
      const arrow = `${from === "(none)" ? "[*]" : from} --> ${to}: `;
      assert.ok(
        chart.split("\n").some((line) => line.trim().startsWith(arrow) && line.includes(verb)),
        `${arrow}${verb}`,
      );
    }
  });

  it("replaces what was between the markers, and nothing else", () => {
    const once = withStateChart("# A\n\n<!-- states -->\nold\n<!-- /states -->\n\nB\n");
    assert.ok(once.startsWith("# A\n\n<!-- states -->\n\n```mermaid\nstateDiagram-v2\n  [*] --> pending: fire\n"));
    assert.ok(once.endsWith("\n```\n\n<!-- /states -->\n\nB\n"));
    assert.ok(!once.includes("old"));
    assert.equal(withStateChart(once), once);
  });

  it("refuses a document without the markers", () => {
    for (
      const text of [
        "",
        "<!-- states -->",
        "<!-- /states --> <!-- states -->",
        "<!-- states --><!-- states --><!-- /states -->",
      ]
    ) {
      assert.throws(() => withStateChart(text), /Cannot write the chart: the document must have/);
    }
  });
});
