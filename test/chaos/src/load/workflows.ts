import { type AnyWorkflow, type Ctx, type Received, type TimedOut, type Workflow, workflow } from "pawl";
import { Bodies, type Witness } from "./bodies.ts";
import { writeLine } from "./books.ts";
import { childInput } from "./expected.ts";
import { HOPELESS_ATTEMPTS, type Inputs, parcelId } from "./inputs.ts";
import type { Parcel, StepValue, Told } from "./told.ts";

/** What a run gathers on its way. */
class Story {
  #value = 0;
  readonly #bodies: string[] = [];
  readonly #received: string[] = [];

  constructor(before?: Told) {
    this.#value = before?.value ?? 0;
    this.#bodies.push(...(before?.bodies ?? []));
    this.#received.push(...(before?.received ?? []));
  }

  did({ value, body }: StepValue): void {
    this.#value += value;
    this.#bodies.push(body);
  }

  got(parcel: Received<Parcel> | TimedOut): boolean {
    if (!parcel.timedOut) this.#received.push(parcel.value.id);
    return !parcel.timedOut;
  }

  worth(value: number): void {
    this.#value += value;
  }

  told(): Told {
    return { value: this.#value, bodies: this.#bodies, received: this.#received };
  }
}

type Run<Name extends keyof Inputs> = (ctx: Ctx, input: Inputs[Name]) => Promise<Told>;

function chain(witness: Witness): Run<"chain"> {
  return async (ctx, { salt, steps, fails, napMs, hopeless }) => {
    const bodies = new Bodies(witness, ctx, salt);
    const story = new Story();
    for (let i = 0; i < steps; i += 1) {
      story.did(await bodies.step(`s${i}`, i === 1 ? { fails } : {}));
      if (i === 0) await ctx.sleep(napMs);
    }
    story.did(await bodies.step("light", { options: { ephemeral: true } }));
    if (hopeless && (await bodies.failing("hopeless", HOPELESS_ATTEMPTS))) story.worth(-1);
    story.did(await bodies.step("last"));
    return story.told();
  };
}

function mailbox(witness: Witness): Run<"mailbox"> {
  return async (ctx, { salt, notes, bulk, patienceMs }) => {
    const bodies = new Bodies(witness, ctx, salt);
    const story = new Story();
    for (let i = 0; i < notes; i += 1) {
      story.got(await ctx.listen<Parcel>("note"));
      story.did(await bodies.step(`note-${i}`, { ms: 5 }));
    }
    story.got(await ctx.listen<Parcel>("maybe", { timeout: patienceMs }));
    const { messages } = await ctx.listenN<Parcel>("bulk", bulk, { timeout: patienceMs });
    for (const message of messages) story.got(message);
    story.did(await bodies.step("close"));
    return story.told();
  };
}

function together(witness: Witness): Run<"together"> {
  return async (ctx, { salt, slowMs, patienceMs }) => {
    const bodies = new Bodies(witness, ctx, salt);
    const story = new Story();
    const after = async (): Promise<StepValue> => {
      await ctx.sleep(Math.floor(patienceMs / 2));
      return await bodies.step("after", { ms: 100 });
    };
    const [slow, later, parcel] = await Promise.all([
      bodies.step("slow", { ms: slowMs }),
      after(),
      ctx.listen<Parcel>("maybe", { timeout: patienceMs }),
    ]);
    story.did(slow);
    story.did(later);
    story.got(parcel);
    return story.told();
  };
}

function relay(witness: Witness): Run<"relay"> {
  return async (ctx, { salt, rounds, round, told }) => {
    const bodies = new Bodies(witness, ctx, salt, round);
    const story = new Story(told);
    story.got(await ctx.listen<Parcel>("tick"));
    story.did(await bodies.step(`turn-${round}`));
    if (round + 1 === rounds) return story.told();
    return await ctx.continueAs({ salt, rounds, round: round + 1, told: story.told() });
  };
}

function family(witness: Witness, chained: Workflow<Inputs["chain"], Told>): Run<"family"> {
  return async (ctx, input) => {
    const bodies = new Bodies(witness, ctx, input.salt);
    const story = new Story();
    const later = await ctx.startChild(chained, childInput(input, "c"), { name: "c" });
    const [own, a, b] = await Promise.all([
      bodies.step("own"),
      ctx.child(chained, childInput(input, "a"), { name: "a" }),
      ctx.child(chained, childInput(input, "b"), { name: "b" }),
    ]);
    story.did(own);
    for (const child of [a, b, await later.result()]) story.worth(child.value);
    return story.told();
  };
}

function ping(witness: Witness): Run<"ping"> {
  return async (ctx, { salt, to, count, topic }) => {
    const bodies = new Bodies(witness, ctx, salt);
    const story = new Story();
    for (let i = 0; i < count; i += 1) {
      story.did(await bodies.step(`ping-${i}`));
      await ctx.send(to, "ping", { id: parcelId(salt, "ping", i) }, { onTargetTerminated: "deadLetter" });
      story.got(await ctx.listen<Parcel>("pong"));
    }
    await ctx.emit(topic, { id: parcelId(salt, topic, 0) });
    return story.told();
  };
}

function pong(witness: Witness): Run<"pong"> {
  return async (ctx, { salt, to, count }) => {
    const bodies = new Bodies(witness, ctx, salt);
    const story = new Story();
    for (let i = 0; i < count; i += 1) {
      story.got(await ctx.listen<Parcel>("ping"));
      await ctx.send(to, "pong", { id: parcelId(salt, "pong", i) }, { onTargetTerminated: "deadLetter" });
      story.did(await bodies.step(`pong-${i}`));
    }
    return story.told();
  };
}

function gather(witness: Witness): Run<"gather"> {
  return async (ctx, { salt, topic, count, bell }) => {
    const bodies = new Bodies(witness, ctx, salt);
    const story = new Story();
    for (let i = 0; i < count; i += 1) {
      story.got(await ctx.awaitEvent<Parcel>(topic));
      story.did(await bodies.step(`got-${i}`));
    }
    story.got(await ctx.awaitEvent<Parcel>(bell));
    story.did(await bodies.step("bell"));
    story.got(await ctx.awaitEvent<Parcel>(topic, { timeout: 50 }));
    return story.told();
  };
}

function doomed(witness: Witness, chained: Workflow<Inputs["chain"], Told>): Run<"doomed"> {
  return async (ctx, { salt, napMs }) => {
    const bodies = new Bodies(witness, ctx, salt);
    const story = new Story();
    const input = { salt: `${salt}-child`, steps: 3, fails: 0, napMs: napMs * 2, hopeless: false };
    await ctx.startChild(chained, input, { name: "child" });
    story.did(await bodies.step("first"));
    await ctx.sleep(napMs);
    return story.told();
  };
}

function books(witness: Witness): Run<"books"> {
  return async (ctx, { salt, lines }) => {
    const bodies = new Bodies(witness, ctx, salt);
    const story = new Story();
    story.did(await bodies.step("begin", { ms: 5 }));
    const write = async (n: number): Promise<number> => {
      const throws = n % 3 === 2;
      const line = await writeLine(ctx, `line-${n}`, throws).catch(() => null);
      return line === null ? 0 : 1;
    };
    const half = Math.floor(lines / 2);
    for (let n = 0; n < half; n += 1) story.worth(await write(n));
    const rest = Array.from({ length: lines - half }, (_, n) => write(half + n));
    for (const one of await Promise.all(rest)) story.worth(one);
    return story.told();
  };
}

/** Longer than a commit takes on a busy machine: a wait that is over before it is written finds nothing. */
const SWEEP_MS = 3_000;

function sweep(): Run<"sweep"> {
  return async (ctx, { topic }) => {
    const story = new Story();
    let more = true;
    while (more) more = story.got(await ctx.awaitEvent<Parcel>(topic, { timeout: SWEEP_MS }));
    return story.told();
  };
}

/** The workflows of the load, with bodies that report to the witness. */
export function loadWorkflows(witness: Witness): readonly AnyWorkflow[] {
  const chained = workflow("chain", chain(witness));
  const all = [
    chained,
    workflow("mailbox", mailbox(witness)),
    workflow("together", together(witness)),
    workflow("relay", relay(witness)),
    workflow("family", family(witness, chained)),
    workflow("ping", ping(witness)),
    workflow("pong", pong(witness)),
    workflow("gather", gather(witness)),
    workflow("doomed", doomed(witness, chained)),
    workflow("books", books(witness)),
    workflow("sweep", sweep()),
  ];
  return all;
}
