import { type AnyWorkflow, type Ctx, type Received, RollbackError, type TimedOut, type Workflow, workflow } from "pawl";
import { Bodies, type BodyReporter } from "./bodies.ts";
import { childInput, payInput } from "./expected.ts";
import { HOPELESS_ATTEMPTS, type Inputs, postId } from "./inputs.ts";
import type { PostValue, RunOutput, StepValue } from "./run-output.ts";
import { writeRow } from "./transaction-rows.ts";

/** Collects the output of a run. */
class OutputCollector {
  #value = 0;
  readonly #bodies: string[] = [];
  readonly #received: string[] = [];

  constructor(before?: RunOutput) {
    this.#value = before?.value ?? 0;
    this.#bodies.push(...(before?.bodies ?? []));
    this.#received.push(...(before?.received ?? []));
  }

  did({ value, body }: StepValue): void {
    this.#value += value;
    this.#bodies.push(body);
  }

  got(received: Received<PostValue> | TimedOut): boolean {
    if (!received.timedOut) this.#received.push(received.value.id);
    return !received.timedOut;
  }

  worth(value: number): void {
    this.#value += value;
  }

  output(): RunOutput {
    return { value: this.#value, bodies: this.#bodies, received: this.#received };
  }
}

type Run<Name extends keyof Inputs> = (ctx: Ctx, input: Inputs[Name]) => Promise<RunOutput>;

function chain(reporter: BodyReporter): Run<"chain"> {
  return async (ctx, { salt, steps, fails, napMs, hopeless }) => {
    const bodies = new Bodies(reporter, ctx, salt);
    const collector = new OutputCollector();
    for (let i = 0; i < steps; i += 1) {
      collector.did(await bodies.step(`s${i}`, i === 1 ? { fails } : {}));
      if (i === 0) await ctx.sleep(napMs);
    }
    collector.did(await bodies.step("light", { options: { ephemeral: true } }));
    if (hopeless && (await bodies.failing("hopeless", HOPELESS_ATTEMPTS))) collector.worth(-1);
    collector.did(await bodies.step("last"));
    return collector.output();
  };
}

function mailbox(reporter: BodyReporter): Run<"mailbox"> {
  return async (ctx, { salt, notes, bulk, patienceMs }) => {
    const bodies = new Bodies(reporter, ctx, salt);
    const collector = new OutputCollector();
    for (let i = 0; i < notes; i += 1) {
      collector.got(await ctx.listen<PostValue>("note"));
      collector.did(await bodies.step(`note-${i}`, { ms: 5 }));
    }
    collector.got(await ctx.listen<PostValue>("maybe", { timeout: patienceMs }));
    const { messages } = await ctx.listenN<PostValue>("bulk", bulk, { timeout: patienceMs });
    for (const message of messages) collector.got(message);
    collector.did(await bodies.step("close"));
    return collector.output();
  };
}

function together(reporter: BodyReporter): Run<"together"> {
  return async (ctx, { salt, slowMs, patienceMs }) => {
    const bodies = new Bodies(reporter, ctx, salt);
    const collector = new OutputCollector();
    const after = async (): Promise<StepValue> => {
      await ctx.sleep(Math.floor(patienceMs / 2));
      return await bodies.step("after", { ms: 100 });
    };
    const [slow, later, late] = await Promise.all([
      bodies.step("slow", { ms: slowMs }),
      after(),
      ctx.listen<PostValue>("maybe", { timeout: patienceMs }),
    ]);
    collector.did(slow);
    collector.did(later);
    collector.got(late);
    return collector.output();
  };
}

function relay(reporter: BodyReporter): Run<"relay"> {
  return async (ctx, { salt, rounds, round, output }) => {
    const bodies = new Bodies(reporter, ctx, salt, round);
    const collector = new OutputCollector(output);
    collector.got(await ctx.listen<PostValue>("tick"));
    collector.did(await bodies.step(`turn-${round}`));
    if (round + 1 === rounds) return collector.output();
    return await ctx.continueAs({ salt, rounds, round: round + 1, output: collector.output() });
  };
}

function family(reporter: BodyReporter, chained: Workflow<Inputs["chain"], RunOutput>): Run<"family"> {
  return async (ctx, input) => {
    const bodies = new Bodies(reporter, ctx, input.salt);
    const collector = new OutputCollector();
    const later = await ctx.startChild(chained, childInput(input, "c"), { name: "c", onParentClose: "cancel" });
    const [own, a, b] = await Promise.all([
      bodies.step("own"),
      ctx.child(chained, childInput(input, "a"), { name: "a" }),
      ctx.child(chained, childInput(input, "b"), { name: "b" }),
    ]);
    collector.did(own);
    for (const child of [a, b, await later.result()]) collector.worth(child.value);
    return collector.output();
  };
}

function ping(reporter: BodyReporter): Run<"ping"> {
  return async (ctx, { salt, to, count, topic }) => {
    const bodies = new Bodies(reporter, ctx, salt);
    const collector = new OutputCollector();
    for (let i = 0; i < count; i += 1) {
      collector.did(await bodies.step(`ping-${i}`));
      await ctx.send(to, "ping", { id: postId(salt, "ping", i) }, { onTargetTerminated: "deadLetter" });
      collector.got(await ctx.listen<PostValue>("pong"));
    }
    await ctx.emit(topic, { id: postId(salt, topic, 0) });
    return collector.output();
  };
}

function pong(reporter: BodyReporter): Run<"pong"> {
  return async (ctx, { salt, to, count }) => {
    const bodies = new Bodies(reporter, ctx, salt);
    const collector = new OutputCollector();
    for (let i = 0; i < count; i += 1) {
      collector.got(await ctx.listen<PostValue>("ping"));
      await ctx.send(to, "pong", { id: postId(salt, "pong", i) }, { onTargetTerminated: "deadLetter" });
      collector.did(await bodies.step(`pong-${i}`));
    }
    return collector.output();
  };
}

function gather(reporter: BodyReporter): Run<"gather"> {
  return async (ctx, { salt, topic, count, bell }) => {
    const bodies = new Bodies(reporter, ctx, salt);
    const collector = new OutputCollector();
    for (let i = 0; i < count; i += 1) {
      collector.got(await ctx.awaitEvent<PostValue>(topic));
      collector.did(await bodies.step(`got-${i}`));
    }
    collector.got(await ctx.awaitEvent<PostValue>(bell));
    collector.did(await bodies.step("bell"));
    collector.got(await ctx.awaitEvent<PostValue>(topic, { timeout: 50 }));
    return collector.output();
  };
}

function doomed(reporter: BodyReporter, chained: Workflow<Inputs["chain"], RunOutput>): Run<"doomed"> {
  return async (ctx, { salt, napMs }) => {
    const bodies = new Bodies(reporter, ctx, salt);
    const collector = new OutputCollector();
    const input = { salt: `${salt}-child`, steps: 3, fails: 0, napMs: napMs * 2, hopeless: false };
    await ctx.startChild(chained, input, { name: "child", onParentClose: "cancel" });
    collector.did(await bodies.step("first"));
    await ctx.sleep(napMs);
    return collector.output();
  };
}

function transactions(reporter: BodyReporter): Run<"transactions"> {
  return async (ctx, { salt, lines }) => {
    const bodies = new Bodies(reporter, ctx, salt);
    const collector = new OutputCollector();
    collector.did(await bodies.step("begin", { ms: 5 }));
    const write = async (n: number): Promise<number> => {
      const throws = n % 3 === 2;
      const line = await writeRow(ctx, `line-${n}`, throws).catch(() => null);
      return line === null ? 0 : 1;
    };
    const half = Math.floor(lines / 2);
    for (let n = 0; n < half; n += 1) collector.worth(await write(n));
    const rest = Array.from({ length: lines - half }, (_, n) => write(half + n));
    for (const one of await Promise.all(rest)) collector.worth(one);
    return collector.output();
  };
}

function pay(reporter: BodyReporter): Run<"pay"> {
  return async (ctx, { salt, napMs, reportTo }) => {
    const bodies = new Bodies(reporter, ctx, salt);
    const collector = new OutputCollector();
    collector.did(await bodies.undoable("pay"));
    await ctx.sleep(napMs);
    collector.did(await bodies.step("book", { ms: 5 }));
    await ctx.send(reportTo, "paid", { id: postId(salt, "paid", 0) }, { onTargetTerminated: "deadLetter" });
    return collector.output();
  };
}

function transfer(reporter: BodyReporter, payment: Workflow<Inputs["pay"], RunOutput>): Run<"transfer"> {
  return async (ctx, input) => {
    const { salt, auditor: to, clashMs, patienceMs, fate } = input;
    const bodies = new Bodies(reporter, ctx, salt);
    const collector = new OutputCollector();
    collector.did(await bodies.undoable("reserve"));
    const clash = async (): Promise<void> => {
      await ctx.sleep(clashMs, { name: "clash" });
      if (fate === "chase") for (let paid = 0; paid < 2; paid += 1) await ctx.listen("paid");
      if (fate === "clash" || fate === "chase") throw new Error("planned clash");
    };
    const [a, b] = await Promise.all([
      ctx.child(payment, payInput(input, "a"), { name: "a" }),
      ctx.child(payment, payInput(input, "b"), { name: "b" }),
      clash(),
    ]);
    for (const child of [a, b]) collector.worth(child.value);
    const choice = await ctx.select(
      { confirmed: { message: "confirm" }, late: { after: patienceMs } },
      { name: "confirm" },
    );
    if (choice.key === "confirmed")
      collector.got({ timedOut: false, value: choice.value as PostValue } as Received<PostValue>);
    await ctx.send(to, "receipt", { id: postId(salt, "receipt", 0) }, { onTargetTerminated: "deadLetter" });
    if (fate === "refuse") throw new RollbackError("planned refusal");
    return collector.output();
  };
}

function auditor(): Run<"auditor"> {
  return async (ctx, { count, patienceMs }) => {
    const collector = new OutputCollector();
    for (let i = 0; i < count; i += 1) collector.got(await ctx.listen<PostValue>("receipt", { timeout: patienceMs }));
    return collector.output();
  };
}

/** Longer than a commit takes on a busy host: a wait that times out before it is stored receives nothing. */
const SWEEP_MS = 3_000;

function sweep(): Run<"sweep"> {
  return async (ctx, { topic }) => {
    const collector = new OutputCollector();
    let more = true;
    while (more) more = collector.got(await ctx.awaitEvent<PostValue>(topic, { timeout: SWEEP_MS }));
    return collector.output();
  };
}

/** The workflows of the load, with bodies that report to the reporter. */
export function loadWorkflows(reporter: BodyReporter): readonly AnyWorkflow[] {
  const chained = workflow("chain", chain(reporter));
  const payment = workflow("pay", pay(reporter));
  const all = [
    chained,
    workflow("mailbox", mailbox(reporter)),
    workflow("together", together(reporter)),
    workflow("relay", relay(reporter)),
    workflow("family", family(reporter, chained)),
    workflow("ping", ping(reporter)),
    workflow("pong", pong(reporter)),
    workflow("gather", gather(reporter)),
    workflow("doomed", doomed(reporter, chained)),
    workflow("transactions", transactions(reporter)),
    payment,
    workflow("transfer", transfer(reporter, payment)),
    workflow("auditor", auditor()),
    workflow("sweep", sweep()),
  ];
  return all;
}
