import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chaos, type Outcome } from "./chaos.ts";
import type { Finding } from "./check/evidence.ts";
import { parseOptions } from "./options.ts";

const FINDINGS_SHOWN = 40;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function countOf(findings: readonly Finding[], kind: Finding["kind"]): number {
  return findings.filter((finding) => finding.kind === kind).length;
}

function sayVerdict({ blows, verdict }: Outcome): void {
  const { findings, duplicates, figures } = verdict;
  for (const { kind, text } of findings.slice(0, FINDINGS_SHOWN)) say(`${kind}: ${text}`);
  if (findings.length > FINDINGS_SHOWN) say(`and ${findings.length - FINDINGS_SHOWN} more`);
  const { runs, records, bodies, books, received, letters, continued, lapses, recovery } = figures;
  say(
    `${runs} runs, ${continued} generations continued, ${records} records, ${bodies} bodies begun, ${books} lines of transactions`,
  );
  say(`${received} messages and events received, ${letters} dead letters, ${lapses} lapses that workers heard of`);
  say(
    `${recovery.count} runs lost their worker in the middle of a body; another began ${recovery.p50} ms later (p50), ` +
      `${recovery.p99} ms (p99), ${recovery.most} ms (most)`,
  );
  const count = blows.SIGKILL + blows.SIGSTOP + blows.SIGTERM;
  const kinds = `${blows.SIGKILL} SIGKILL, ${blows.SIGSTOP} SIGSTOP, ${blows.SIGTERM} SIGTERM`;
  const unexplained = countOf(findings, "duplicate");
  const explained = unexplained === 0 ? "all explained" : `${unexplained} unexplained`;
  const wrong = countOf(findings, "wrong");
  say(
    `${count} kills survived (${kinds}), ${countOf(findings, "lost")} lost, ${countOf(findings, "twice")} committed twice, ` +
      `${duplicates} duplicates ${explained}${wrong === 0 ? "" : `, ${wrong} otherwise wrong`}`,
  );
}

async function main(): Promise<number> {
  const parsed = parseOptions(process.argv.slice(2), Math.floor(Math.random() * 1_000_000));
  if (parsed.kind === "refused") {
    say(parsed.reason);
    return 2;
  }
  const { options } = parsed;
  const folder = mkdtempSync(join(tmpdir(), "pawl-chaos-"));
  say(`seed ${options.seed}: ${options.kills} kills over ${options.workers} workers, in ${folder}`);
  const outcome = await chaos(options, folder, say);
  const good = outcome.verdict.findings.length === 0;
  if (good && !options.keep) rmSync(folder, { recursive: true, force: true });
  else say(`the database, the ledger and the logs are in ${folder}; --seed ${options.seed} repeats the load`);
  sayVerdict(outcome);
  return good ? 0 : 1;
}

process.exitCode = await main();
