import { spawn } from "node:child_process";
import { createWriteStream, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Runs a section of the test command. Its output goes to a file, and the last lines are printed if it fails. Its processes are killed
 * when it times out or the command is interrupted.
 *
 * @typedef {object} Command
 * @property {string} file
 * @property {readonly string[]} args
 * @property {Readonly<Record<string, string | undefined>>} [env] Added to the environment.
 *
 * @typedef {object} Section
 * @property {string} name
 * @property {string} title
 * @property {readonly Command[]} commands
 * @property {string} [report] The JSON report of a test runner. A section without a report counts as one test.
 * @property {number} [msMax] The time limit of each command.
 *
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 */

/** The time limit of a command that hangs. On a slow and busy host the longest command takes a third of it. */
const COMMAND_MS_MAX = 30 * 60_000;
const PROGRESS_MS = 20_000;
const TAIL_LINES = 60;

/** Kills the running command. @type {(() => void) | null} */
let stopCurrent = null;

export function stopOnSignals() {
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) {
    process.on(signal, () => {
      stopCurrent?.();
      process.exit(130);
    });
  }
}

/** @param {Section} section @param {string} folder The folder of the logs. @returns {Promise<Counts>} */
export async function runSection(section, folder) {
  const log = join(folder, `${section.name}.log`);
  const startedAt = performance.now();
  const elapsed = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  console.log(`\n== ${section.title}`);
  const progress = setInterval(() => console.log(`   … ${elapsed()}: ${tail(log, 1)}`), PROGRESS_MS);
  const ok = await runAll(section, log);
  clearInterval(progress);
  const counts = countsOf(section, ok);
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
  if (counts.failed > 0) console.log(tail(log, TAIL_LINES));
  console.log(
    `   ${counts.failed > 0 ? "FAILED" : "ok"}: ${counts.passed} passed, ${counts.failed} failed${skipped} in ${elapsed()}`,
  );
  if (counts.failed > 0) console.log(`   full output: ${log}`);
  return counts;
}

/** @param {Section} section @param {string} log */
async function runAll({ commands, msMax = COMMAND_MS_MAX }, log) {
  for (const command of commands) if (!(await run(command, log, msMax))) return false;
  return true;
}

/** @param {Command} command @param {string} log @param {number} msMax @returns {Promise<boolean>} */
function run(command, log, msMax) {
  const output = createWriteStream(log, { flags: "a" });
  return new Promise((resolve) => {
    // A separate process group, so that `stop` also kills the processes that the command started.
    const child = spawn(command.file, command.args, {
      env: { ...process.env, ...command.env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const stop = () => {
      if (child.pid !== undefined) killGroup(child.pid);
    };
    stopCurrent = stop;
    const timeout = setTimeout(() => {
      output.write(`\nkilled after ${msMax / 1000} s\n`);
      stop();
    }, msMax);
    child.stdout.on("data", (text) => output.write(text));
    child.stderr.on("data", (text) => output.write(text));
    child.on("error", (error) => output.write(`\ncould not start ${command.file}: ${error.message}\n`));
    child.on("close", (code) => {
      clearTimeout(timeout);
      stopCurrent = null;
      output.end(() => resolve(code === 0));
    });
  });
}

/** @param {number} pid */
function killGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // The group has already ended.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** @param {Section} section @param {boolean} ok @returns {Counts} */
function countsOf(section, ok) {
  if (section.report === undefined) return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 };
  const tests = testCounts(section.report);
  if (tests === null) return { passed: 0, failed: 1, skipped: 0 };
  // A runner may fail without a failed test: an error between tests, or no test found.
  return { ...tests, failed: ok ? tests.failed : Math.max(1, tests.failed) };
}

/** The counts of Vitest's JSON report. Null if there is no report. @param {string} report @returns {Counts | null} */
function testCounts(report) {
  try {
    const json = JSON.parse(readFileSync(report, "utf8"));
    return {
      passed: json.numPassedTests,
      failed: json.numFailedTests,
      skipped: json.numPendingTests + json.numTodoTests,
    };
  } catch (error) {
    console.log(`   test report not found: ${String(error)}`);
    return null;
  }
}

/** @param {string} log @param {number} lines */
function tail(log, lines) {
  try {
    return readFileSync(log, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  } catch (error) {
    return `no output (${String(error)})`;
  }
}
