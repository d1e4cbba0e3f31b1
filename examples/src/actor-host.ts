/**
 * A small actor host: each actor has storage and an alarm of its own, and is in memory only while it has something to do.
 * Each is one run of a workflow, which the host runs whenever the actor's alarm comes.
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

  /** Runs an actor until it waits. */
  async create(id: string, input: Input): Promise<void> {
    this.#inputs.set(id, input);
    await this.#run(id, input).result;
  }

  /** An actor that is not in memory gets what it is sent all the same. */
  async tell(id: string, message: string, value: unknown): Promise<void> {
    await hostedRun(id, this.#namespaces.driver(id)).message(message, value);
  }

  /** Runs each actor whose alarm has come, until no alarm is set. */
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
await host.tell("ann", "answer", "a year");
for (const output of await host.untilQuiet()) console.log(output);
