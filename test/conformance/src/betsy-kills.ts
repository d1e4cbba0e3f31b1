import { fork } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { memoryStore } from "pawl";
import { runBetsyCase } from "./betsy-adapter.ts";
import { readBetsy } from "./betsy-suite.ts";

/** The number of cases in one process. A kill hits each of them at another point. */
const GROUP = 12;
/** The maximum number of kills of a group. After them it may end. */
const KILLS_MAX = 8;
const CHILD = fileURLToPath(new URL("./killed-case.js", import.meta.url));

export interface KillReport {
  readonly cases: number;
  /** The number of killed processes, and of the cases that were running in them. */
  readonly kills: number;
  readonly hits: number;
  readonly different: ReadonlyArray<{
    readonly name: string;
    readonly plain: readonly string[];
    readonly killed: readonly string[];
  }>;
}

/** Executes every case on SQLite in processes that are killed at random moments. Compares each trace with that of the case without kills. */
export async function runBetsyKilling(suite: string, files: string): Promise<KillReport> {
  const all = readBetsy(suite).flatMap(({ name, xml, testCases }) =>
    testCases.map((test, i) => ({ name: `${name}/${i}`, xml, test, trace: join(files, `${name}-${i}`, "trace") })),
  );
  let kills = 0;
  let hits = 0;
  for (let from = 0; from < all.length; from += GROUP) {
    const group = all.slice(from, from + GROUP);
    const left = (): number => group.filter(({ trace }) => !existsSync(trace)).length;
    const names = group.map(({ name }) => name);
    for (let count = 0; left() > 0; count += 1) {
      if (!(await isKilled([suite, files, ...names], count < KILLS_MAX))) continue;
      kills += 1;
      hits += left();
    }
  }
  const different: Array<KillReport["different"][number]> = [];
  for (const { name, xml, test, trace } of all) {
    const plain = await runBetsyCase(xml, test, memoryStore());
    const killed = JSON.parse(readFileSync(trace, "utf8")) as readonly string[];
    if (JSON.stringify(plain) !== JSON.stringify(killed)) different.push({ name, plain, killed });
  }
  return { cases: all.length, kills, hits, different };
}

/** The duration of the last group from its ready message. Kills are spread over this time. */
let groupMs = 2_000;

/** Runs one process, and kills it at a random moment if `may` is set. Resolves to true if it was killed. */
function isKilled(args: readonly string[], may: boolean): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = fork(CHILD, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    let readyAt = 0;
    let timer: NodeJS.Timeout | undefined;
    child.on("message", () => {
      readyAt = performance.now();
      if (may) timer = setTimeout(() => child.kill("SIGKILL"), Math.random() * groupMs);
    });
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      clearTimeout(timer);
      if (signal === "SIGKILL") resolve(true);
      else if (code === 0) {
        groupMs = (groupMs + (performance.now() - readyAt)) / 2;
        resolve(false);
      } else reject(new Error(`the process of ${args.slice(2).join(", ")} exited with ${code ?? signal}`));
    });
  });
}
