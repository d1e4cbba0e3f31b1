import { SimpleError } from "@redis/client";
import { describe, expect, it } from "vitest";
import { storeErrorOf } from "./errors.ts";

describe("the error of a Redis command", () => {
  it.each([
    ["LOADING Redis is loading the dataset in memory", "STORE_BUSY"],
    ["BUSY Redis is busy running a script", "STORE_BUSY"],
    ["READONLY You can't write against a read only replica.", "STORE_BUSY"],
    ["NOREPLICAS Not enough good replicas to write.", "STORE_BUSY"],
    ["CLUSTERDOWN The cluster is down", "STORE_BUSY"],
    ["OOM command not allowed when used memory > 'maxmemory'.", "STORE_FULL"],
    ["MISCONF Errors writing to the AOF file: No space left on device", "STORE_FULL"],
    ["NOAUTH Authentication required.", "STORE_UNAVAILABLE"],
    ["WRONGPASS invalid username-password pair or user is disabled.", "STORE_UNAVAILABLE"],
    ["NOPERM this user has no permissions to run the 'evalsha' command", "STORE_UNAVAILABLE"],
    [
      "ERR The user executing the script can't run this command or subcommand script: 27, on @user_script:4.",
      "STORE_UNAVAILABLE",
    ],
    ["ERR max number of clients reached", "STORE_UNAVAILABLE"],
    ["ERR unknown command 'EVALSHA'", "STORE_UNAVAILABLE"],
    ["MOVED 1 127.0.0.1:1", "STORE_UNAVAILABLE"],
    ["FUTURE a code that no version has yet", "STORE_UNAVAILABLE"],
  ])("%s is a store error with code %s", (message, code) => {
    const cause = new SimpleError(message);
    expect(storeErrorOf(cause)).toMatchObject({ name: "StoreError", code, cause });
  });

  it.each([
    "ERR user_script:1: attempt to index local 'x' (a nil value) script: cf, on @user_script:1.",
    "ERR Error compiling script (new function): user_script:1: '=' expected near '1'",
    "ERR Wrong number of args calling Redis command from script script: 18, on @user_script:1.",
    "ERR wrong number of arguments for 'set' command",
    "WRONGTYPE Operation against a key holding the wrong kind of value",
    "CROSSSLOT Keys in request don't hash to the same slot",
  ])("%s proves a bug and passes unchanged", (message) => {
    const cause = new SimpleError(message);
    expect(storeErrorOf(cause)).toBe(cause);
  });

  it("an error of the client is a store error unless it is a programming error", () => {
    expect(storeErrorOf(new Error("Socket closed unexpectedly"))).toMatchObject({ outcome: "unknown" });
    const bug = new TypeError("arguments must be strings");
    expect(storeErrorOf(bug)).toBe(bug);
  });
});
