import { workflow } from "pawl";
import { effectLog, explore } from "pawl/testing";
import { readCommandOptions } from "./command-options.mjs";

/** Measures how many schedules of a ten-step workflow `explore` executes per second. `--schedules 5000` executes more. */

const { schedules } = readCommandOptions("npm run explore:rate [-- --schedules N]", { schedules: 3_000 });
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

// Warm-up: compilation is not measured.
await explore(ten, undefined, { effects, schedules: 500 });
const startedAt = performance.now();
const cpu = process.cpuUsage();
const report = await explore(ten, undefined, { effects, schedules });
const seconds = (performance.now() - startedAt) / 1000;
const { user, system } = process.cpuUsage(cpu);
const perSecond = Math.round(report.schedules / seconds);
const perCpuSecond = Math.round((report.schedules * 1_000_000) / (user + system));
console.log(`${report.text}: ${perSecond} schedules/s, ${perCpuSecond} per second of CPU time`);
