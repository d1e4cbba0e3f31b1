import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runSection } from "./sections.mjs";

describe("a section of the test command", () => {
  let folder: string;
  let printed: string[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "pawl-sections-"));
    printed = [];
    vi.spyOn(console, "log").mockImplementation((text: string) => printed.push(text));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(folder, { recursive: true, force: true });
  });

  const node = (code: string) => ({ file: process.execPath, args: ["-e", code] });
  const section = (...commands: { file: string; args: string[] }[]) => ({ name: "made", title: "made up", commands });
  const report = (counts: Readonly<Record<string, number>>): string => {
    const path = join(folder, "report.json");
    const none = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 };
    writeFileSync(path, JSON.stringify({ ...none, ...counts }));
    return path;
  };

  test("a section without a report counts as one passed test if all its commands exit with 0", async () => {
    const counts = await runSection(section(node("console.log('quiet')"), node("")), folder);
    expect(counts).toEqual({ passed: 1, failed: 0, skipped: 0 });
    expect(printed.join("\n")).not.toContain("quiet");
    expect(readFileSync(join(folder, "made.log"), "utf8")).toBe("quiet\n");
  });

  test("a failing command ends its section, which prints the last lines and counts as one failed test", async () => {
    const counts = await runSection(
      section(node("console.error('why'); process.exit(3)"), node("console.log('on')")),
      folder,
    );
    expect(counts).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(printed).toContain("why");
    expect(readFileSync(join(folder, "made.log"), "utf8")).not.toContain("on\n");
  });

  test("a section fails if a command does not exist", async () => {
    const counts = await runSection(section({ file: join(folder, "none"), args: [] }), folder);
    expect(counts).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  test("a section fails if a command times out, and the command's child processes are killed", async () => {
    const child = `require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => 1, 1000)"], { stdio: "inherit" })`;
    const counts = await runSection({ ...section(node(`${child}; setInterval(() => 1, 1000)`)), msMax: 500 }, folder);
    expect(counts).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(printed.join("\n")).toContain("killed after 0.5 s");
  });

  test("a section with a report has the counts of the report", async () => {
    const counted = { ...section(node("")), report: report({ numPassedTests: 7, numPendingTests: 2 }) };
    expect(await runSection(counted, folder)).toEqual({ passed: 7, failed: 0, skipped: 2 });
    const failing = { ...section(node("process.exit(1)")), report: report({ numPassedTests: 7, numFailedTests: 2 }) };
    expect(await runSection(failing, folder)).toEqual({ passed: 7, failed: 2, skipped: 0 });
  });

  test("a section fails if the test runner fails without a failed test", async () => {
    const failing = { ...section(node("process.exit(1)")), report: report({ numPassedTests: 7 }) };
    expect(await runSection(failing, folder)).toEqual({ passed: 7, failed: 1, skipped: 0 });
  });

  test("a section fails if the test runner writes no report", async () => {
    const crashed = { ...section(node("")), report: join(folder, "none.json") };
    expect(await runSection(crashed, folder)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });
});
