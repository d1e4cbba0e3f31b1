import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chaos, type Outcome } from "./chaos.ts";
import type { Finding } from "./check/evidence.ts";
import { parseOptions } from "./options.ts";

const FINDINGS_SHOWN = 40;

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function countOf(findings: readonly Finding[], kind: Finding["kind"]): number {
  return findings.filter((finding) => finding.kind === kind).length;
}

function printVerdict({ signals, verdict }: Outcome): void {
  const { findings, duplicates, figures } = verdict;
  for (const { kind, text } of findings.slice(0, FINDINGS_SHOWN)) print(`${kind}: ${text}`);
  if (findings.length > FINDINGS_SHOWN) print(`and ${findings.length - FINDINGS_SHOWN} more`);
  const { runs, records, bodies, transactionRows, received, letters, continued, expiredLeases, recovery } = figures;
  print(
    `${runs} runs, ${continued} generations continued, ${records} records, ${bodies} bodies started, ${transactionRows} rows of transactions`,
  );
  print(
    `${received} messages and events received, ${letters} dead letters, ${expiredLeases} expired leases reported to workers`,
  );
  print(
    `${recovery.count} runs lost their worker during a body; another worker continued ${recovery.p50} ms later (p50), ` +
      `${recovery.p99} ms (p99), ${recovery.most} ms (most)`,
  );
  const count = signals.SIGKILL + signals.SIGSTOP + signals.SIGTERM;
  const kinds = `${signals.SIGKILL} SIGKILL, ${signals.SIGSTOP} SIGSTOP, ${signals.SIGTERM} SIGTERM`;
  const unexplained = countOf(findings, "duplicate");
  const explained = unexplained === 0 ? "all explained" : `${unexplained} unexplained`;
  const wrong = countOf(findings, "wrong");
  print(
    `${count} kills survived (${kinds}), ${countOf(findings, "lost")} lost, ${countOf(findings, "twice")} committed twice, ` +
      `${duplicates} duplicates ${explained}${wrong === 0 ? "" : `, ${wrong} other errors`}`,
  );
}

async function main(): Promise<number> {
  const parsed = parseOptions(process.argv.slice(2), Math.floor(Math.random() * 1_000_000));
  if (parsed.kind === "refused") {
    print(parsed.reason);
    return 2;
  }
  const { options } = parsed;
  const folder = mkdtempSync(join(tmpdir(), "pawl-chaos-"));
  print(`seed ${options.seed}: ${options.kills} kills over ${options.workers} workers, in ${folder}`);
  const outcome = await chaos(options, folder, print);
  const good = outcome.verdict.findings.length === 0;
  if (good && !options.keep) rmSync(folder, { recursive: true, force: true });
  else print(`the database, the ledger and the logs are in ${folder}; --seed ${options.seed} repeats the load`);
  printVerdict(outcome);
  return good ? 0 : 1;
}

process.exitCode = await main();
