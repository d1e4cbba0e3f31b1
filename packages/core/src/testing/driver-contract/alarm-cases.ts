import type { DriverCase } from "./driver-subject.ts";

export const alarmCases: readonly DriverCase[] = [
  {
    name: "an alarm is moved by a second setAlarm and removed by clearAlarm",
    async run({ driver, alarm }, expect) {
      await driver.clearAlarm("run");
      await driver.setAlarm("run", 2_000);
      await driver.setAlarm("run", 1_000);
      if (alarm !== undefined) expect(await alarm()).toBe(1_000);
      await driver.setAlarm("run", 3_000);
      if (alarm !== undefined) expect(await alarm()).toBe(3_000);
      await driver.clearAlarm("run");
      if (alarm !== undefined) expect(await alarm()).toBe(null);
    },
  },
  {
    name: "an alarm can be set for a past or a distant time",
    async run({ driver, alarm }, expect) {
      for (const at of [0, 1, 1_700_000_000_000, 8_640_000_000_000_000]) {
        await driver.setAlarm("run", at);
        if (alarm !== undefined) expect(await alarm()).toBe(at);
      }
    },
  },
  {
    name: "an alarm does not appear in the list of keys",
    async run({ driver }, expect) {
      await driver.setAlarm("run", 1_000);
      expect((await driver.list(new Uint8Array())).length).toBe(0);
    },
  },
];
