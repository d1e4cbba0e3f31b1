import { createBpmn, humanTasks } from "@pawl/bpmn";
import { createClient, createEngine, memoryStore } from "pawl";

/** A purchase that a manager must approve. The managers use a client without a worker. */
const store = memoryStore();
const engine = await createEngine({ store });
const bpmn = await createBpmn({ engine });
await bpmn.deploy({
  id: "purchase",
  nodes: [
    { id: "asked", type: "startProcess" },
    { id: "approve", type: "userTask", data: { label: "Approve", candidateGroups: ["managers"] } },
    { id: "done", type: "endProcess" },
  ],
  connections: [
    { source: "asked", target: "approve" },
    { source: "approve", target: "done" },
  ],
});
const run = await bpmn.start("purchase", { cents: 120_000 }, { id: "purchase-1" });
while ((await run.status()) !== "suspended") await new Promise((resolve) => setTimeout(resolve, 5));

const tasks = humanTasks({ engine: await createClient({ store }) });
const claims = await Promise.allSettled(
  ["ann", "bob"].map((user) => tasks.claim("purchase-1 approve/task", user, { groups: ["managers"] })),
);
console.log(`claimed by ${claims.filter(({ status }) => status === "fulfilled").length} of 2`);

const { assignee } = await tasks.get("purchase-1 approve/task");
await tasks.complete("purchase-1 approve/task", { approved: true }, { by: assignee ?? "" });
console.log((await run.result()).approved === true ? "approved" : "refused");
await engine.shutdown();
