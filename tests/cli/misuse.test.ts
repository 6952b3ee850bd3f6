import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { app, type CommandOptions, relay } from "./command.ts";

type Case = [args: readonly string[], code: number, says: RegExp, options?: CommandOptions];

const url = (DATABASE_URL: string): CommandOptions => ({ env: { DATABASE_URL } });

const cases: Record<string, Case> = {
  "an unknown flag": [["--onec"], 2, /`--onec`.*relay run --help/],
  "a flag of another command": [["status", "--once"], 2, /`--once`.*relay status --help/],
  "an unknown command": [["statsu"], 2, /no file .*statsu.*relay --help/],
  "a command in the wrong place": [["--json", "status"], 2, /"status" is a command and comes first/],
  "two applications": [["one.ts", "two.ts"], 2, /`two.ts`/],
  "no number": [["--limit", "many"], 2, /`--limit`.*integer.*"many"/],
  "a number out of range": [["--concurrency", "0"], 2, /`--concurrency`.*1.*"0"/],
  "no duration": [["--grace", "soon"], 2, /`--grace`.*30s.*"soon"/],
  "an empty worker id": [["--worker-id", " "], 2, /`--worker-id`.*name/],
  "a limit with a batch size": [["--limit", "3", "--batch-size", "3"], 2, /--limit .*--batch-size/],
  "once with passes": [["--once", "--passes", "3"], 2, /--once .*--passes/],
  "a lane with all of them": [["--lane", "mail", "--all-lanes"], 2, /--all-lanes .*--lane; give one of them/],
  "an empty lane": [["--lane", " "], 2, /`--lane`.*name/],
  "pitfall 69: a lane that nobody declares": [
    [app("lanes"), "--lane", "mial"],
    2,
    /lane "mial": no listed receiver declares it, declared are default, mail, phone/,
  ],
  "pitfall 69: a lane that nobody declares, once": [
    [app("lanes"), "--lane", "mial", "--once"],
    2,
    /declared are default, mail, phone/,
    url("postgres://u:secret@127.0.0.1:1/d"),
  ],
  "an application that throws": [[app("throws")], 1, /does not load \(the mail server is not configured\)/],
  "an application without an outbox": [[app("other")], 1, /`outbox` or as the default export; it exports shop/],
  "an application whose function makes no outbox": [[app("wrong"), "--once"], 1, /got object/],
  "a log level": [["--once"], 2, /OWED_LOG="loud".*debug/, { env: { OWED_LOG: "loud" } }],
  "another database": [
    [app("function"), "--once"],
    2,
    /DATABASE_URL.*postgres:.*"mysql:"/,
    url("mysql://u:secret@h/d"),
  ],
  "no URL": [[app("function"), "--once"], 2, /DATABASE_URL.*does not begin with a scheme/, url("secret")],
  "a broken URL": [[app("function"), "--once"], 2, /percent encoding/, url("postgres://u:p/secret@h/d")],
  "a server that does not answer": [
    [app("function"), "--once"],
    4,
    /no connection to the database at postgres:\/\/u@127.0.0.1:1\/d; .*DATABASE_URL/,
    url("postgres://u:secret@127.0.0.1:1/d"),
  ],
  "a folder that is not there": [
    [app("function"), "--once"],
    4,
    /no connection to the database at .*\/nope\/o.db/,
    url("file:/nope/o.db"),
  ],
};

describe("each misuse is told in one line that says what to do", { concurrency: 4 }, () => {
  for (const [name, [args, code, says, options]] of Object.entries(cases)) {
    it(name, async () => {
      const ended = await relay(args, options);
      assert.match(ended.stderr, says);
      assert.equal(ended.stderr.split("\n").length, 1, `One line, not:\n${ended.stderr}`);
      assert.match(ended.stderr, /^relay: /);
      assert.doesNotMatch(ended.stderr, /secret/);
      assert.equal(ended.stdout, "");
      assert.equal(ended.code, code);
    });
  }
});
