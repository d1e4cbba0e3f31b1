import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { type Processes, systemProcesses } from "./processes.ts";

function processes(): Processes {
  const found = systemProcesses();
  if (found === null) throw new Error("this host must have processes");
  return found;
}

it("a process that exists has not ended, and one that was killed has", async () => {
  const { self, hasEnded } = processes();
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  await once(child, "spawn");
  const other = { ...self, pid: Number(child.pid), startedAt: "" };
  expect([hasEnded(self), hasEnded(other)]).toEqual([false, false]);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(hasEnded(other)).toBe(true);
});

it("a process of another host has not certainly ended, even if its id is free here", () => {
  const { self, hasEnded } = processes();
  expect(hasEnded({ ...self, host: "elsewhere", pid: 2 ** 22 + 1 })).toBe(false);
  expect(hasEnded({ ...self, pid: 2 ** 22 + 1 })).toBe(true);
});

it.runIf(process.platform === "linux")("a process whose id another process has now has ended", () => {
  const { self, hasEnded } = processes();
  expect(self.startedAt).toMatch(/^\d+$/);
  expect(hasEnded({ ...self, startedAt: "1" })).toBe(true);
});

it("two reads of this process give the same identity", () => {
  expect(processes().self).toEqual(processes().self);
});
