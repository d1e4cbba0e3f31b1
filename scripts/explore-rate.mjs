import { workflow } from "pawl";
import { effectLog, explore } from "pawl/testing";
import { asked } from "./asked.mjs";

/** Says how many schedules of a workflow of ten steps `explore` plays in a second. `--schedules 5000` plays more. */

const { schedules } = asked("npm run explore:rate [-- --schedules N]", { schedules: 3_000 });
const effects = effectLog();
const ten = workflow("ten steps", async (ctx) => {
  let sum = 0;
  for (let step = 1; step <= 10; step += 1) {
    sum += await ctx.step(`step ${step}`, ({ idempotencyKey }) => {
      effects.happened(`effect ${step}`, { key: idempotencyKey });
      return step;
    });
  }
  return sum;
});

// What is compiled once does not count.
await explore(ten, undefined, { effects, schedules: 500 });
const startedAt = performance.now();
const cpu = process.cpuUsage();
const report = await explore(ten, undefined, { effects, schedules });
const seconds = (performance.now() - startedAt) / 1000;
const { user, system } = process.cpuUsage(cpu);
const perSecond = Math.round(report.schedules / seconds);
const perCpuSecond = Math.round((report.schedules * 1_000_000) / (user + system));
console.log(`${report.text}: ${perSecond} schedules a second, ${perCpuSecond} a second of processor time`);
