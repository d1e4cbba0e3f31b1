/**
 * A small actor host. Each actor has its own storage and alarm, and is in memory only while it works. Each actor is one run of a
 * workflow, which the host executes when the actor's alarm fires.
 */
import { type Workflow, workflow } from "pawl";
import { hostedRun, memoryNamespaces, type RunningWorkflow, runWorkflow } from "pawl/host";

const subscription = workflow("subscription", async (ctx, name: string) => {
  await ctx.step("welcome", () => console.log(`welcome, ${name}`));
  await ctx.sleep("1 s", { name: "trial" });
  await ctx.step("ask", () => console.log(`${name}, do you stay?`));
  const answer = await ctx.listen<string>("answer", { timeout: "1 s" });
  return answer.timedOut ? `${name} left` : `${name} stays: ${answer.value}`;
});

class ActorHost<Input, Output> {
  readonly #workflow: Workflow<Input, Output>;
  readonly #namespaces = memoryNamespaces();
  readonly #inputs = new Map<string, Input>();

  constructor(definition: Workflow<Input, Output>) {
    this.#workflow = definition;
  }

  /** Executes an actor until it waits. */
  async create(id: string, input: Input): Promise<void> {
    this.#inputs.set(id, input);
    await this.#run(id, input).result;
  }

  /** Sends a message to an actor, even if it is not in memory. */
  async send(id: string, message: string, value: unknown): Promise<void> {
    await hostedRun(id, this.#namespaces.driver(id)).message(message, value);
  }

  /** Executes each actor whose alarm is due, until no alarm is set. */
  async untilQuiet(): Promise<readonly Output[]> {
    const outputs: Output[] = [];
    for (;;) {
      const [next] = await this.#namespaces.alarms();
      if (next === undefined) return outputs;
      await new Promise((done) => setTimeout(done, Math.max(0, next.at - Date.now())));
      const { state, output } = await this.#run(next.runId, this.#inputs.get(next.runId) as Input).result;
      if (state === "completed") outputs.push(output as Output);
    }
  }

  #run(id: string, input: Input): RunningWorkflow<Output> {
    return runWorkflow(id, this.#workflow, input, this.#namespaces.driver(id));
  }
}

const host = new ActorHost(subscription);
await host.create("ann", "ann");
await host.create("bob", "bob");
await host.send("ann", "answer", "a year");
for (const output of await host.untilQuiet()) console.log(output);
