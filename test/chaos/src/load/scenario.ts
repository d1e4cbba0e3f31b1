import { type Random, seededRandom } from "pawl";
import { EMPTY_OUTPUT, type Inputs, postId, TOPICS, type WorkflowName } from "./inputs.ts";

type StartAction = {
  readonly [Name in WorkflowName]: {
    readonly kind: "start";
    readonly run: string;
    readonly workflow: Name;
    readonly input: Inputs[Name];
  };
}[WorkflowName];

/** A call of the engine. Each has an id, so that it can be repeated. */
export type CallAction =
  | StartAction
  | { readonly kind: "send"; readonly to: string; readonly name: string; readonly id: string }
  | { readonly kind: "emit"; readonly topic: string; readonly id: string; readonly consume: "one" | "all" }
  | { readonly kind: "cancel"; readonly run: string };

/** An action of a client. When another client repeats a scenario from its start, the result is the same. */
export type Action =
  | CallAction
  | { readonly kind: "pause"; readonly ms: number }
  | { readonly kind: "await"; readonly run: string };

export interface Scenario {
  readonly index: number;
  readonly actions: readonly Action[];
}

/** Optional features of the store. */
export interface Features {
  readonly transactions?: boolean;
}

/** Pure: the same seed and index return the same scenario. */
export function scenarioAt(seed: number, index: number, features: Features = {}): Scenario {
  const random = new ScenarioRandom(seededRandom(seed * 7_919 + index));
  const make = random.pick(features.transactions === true ? [...BUILDERS, transactions, transactions] : BUILDERS);
  return { index, actions: make(`c${index}`, random) };
}

/** Receives the events that are left on the topics, when no other scenario runs. */
export function sweepScenario(index: number): Scenario {
  const runs = TOPICS.map((topic) => ({ run: `sweep-${topic}`, topic }));
  return {
    index,
    actions: [
      ...runs.map(({ run, topic }): Action => ({ kind: "start", run, workflow: "sweep", input: { salt: run, topic } })),
      ...runs.map(({ run }): Action => ({ kind: "await", run })),
    ],
  };
}

class ScenarioRandom {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** An integer, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.#random.next() * (most - least + 1));
  }

  chance(part: number): boolean {
    return this.#random.next() < part;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.between(0, items.length - 1)];
    if (item === undefined) throw new Error("cannot pick from an empty list");
    return item;
  }
}

type ScenarioBuilder = (sender: string, random: ScenarioRandom) => readonly Action[];

const chain: ScenarioBuilder = (sender, random) => {
  const run = `${sender}-chain`;
  const input = {
    salt: run,
    steps: random.between(2, 5),
    fails: random.between(0, 2),
    napMs: random.between(10, 400),
    hopeless: random.chance(0.3),
  };
  return [
    { kind: "start", run, workflow: "chain", input },
    ...(random.chance(0.2) ? [{ kind: "start", run, workflow: "chain", input } as const] : []),
    { kind: "await", run },
  ];
};

const mailbox: ScenarioBuilder = (sender, random) => {
  const run = `${sender}-mailbox`;
  const notes = random.between(2, 6);
  const patienceMs = random.between(50, 400);
  const bulk = random.between(2, 4);
  const send = (name: string, k: number): Action => ({ kind: "send", to: run, name, id: postId(sender, name, k) });
  const note = (k: number): readonly Action[] => [
    ...(random.chance(0.5) ? [{ kind: "pause", ms: random.between(5, 120) } as const] : []),
    send("note", k),
    ...(random.chance(0.2) ? [send("note", k)] : []),
  ];
  return [
    { kind: "start", run, workflow: "mailbox", input: { salt: run, notes, bulk, patienceMs } },
    ...Array.from({ length: notes + random.between(0, 1) }, (_, k) => note(k)).flat(),
    // At about the time at which the wait times out.
    { kind: "pause", ms: random.between(0, patienceMs) },
    ...(random.chance(0.7) ? [send("maybe", 0)] : []),
    ...Array.from({ length: random.between(0, bulk + 1) }, (_, k) => send("bulk", k)),
    { kind: "await", run },
    ...(random.chance(0.3) ? [send("note", 99)] : []),
  ];
};

const together: ScenarioBuilder = (sender, random) => {
  const run = `${sender}-together`;
  const patienceMs = random.between(100, 300);
  return [
    { kind: "start", run, workflow: "together", input: { salt: run, slowMs: random.between(50, 500), patienceMs } },
    { kind: "pause", ms: Math.max(0, patienceMs - random.between(0, 120)) },
    { kind: "send", to: run, name: "maybe", id: postId(sender, "maybe", 0) },
    { kind: "await", run },
  ];
};

const relay: ScenarioBuilder = (sender, random) => {
  const run = `${sender}-relay`;
  const rounds = random.between(2, 5);
  return [
    { kind: "start", run, workflow: "relay", input: { salt: run, rounds, round: 0, output: EMPTY_OUTPUT } },
    ...Array.from({ length: rounds }, (_, k): readonly Action[] => [
      { kind: "pause", ms: random.between(0, 150) },
      { kind: "send", to: run, name: "tick", id: postId(sender, "tick", k) },
    ]).flat(),
    { kind: "await", run },
  ];
};

const family: ScenarioBuilder = (sender, random) => {
  const run = `${sender}-family`;
  return [
    { kind: "start", run, workflow: "family", input: { salt: run, napMs: random.between(10, 300) } },
    { kind: "await", run },
  ];
};

const pair: ScenarioBuilder = (sender, random) => {
  const ping = `${sender}-ping`;
  const pong = `${sender}-pong`;
  const count = random.between(1, 4);
  const topic = random.pick(TOPICS);
  return [
    { kind: "start", run: pong, workflow: "pong", input: { salt: pong, to: ping, count } },
    { kind: "start", run: ping, workflow: "ping", input: { salt: ping, to: pong, count, topic } },
    { kind: "await", run: ping },
    { kind: "await", run: pong },
  ];
};

const gather: ScenarioBuilder = (sender, random) => {
  const topic = random.pick(TOPICS);
  const bell = `${sender}-bell`;
  const count = random.between(1, 3);
  const runs = ["x", "y"].map((each) => `${sender}-gather-${each}`);
  const starts = runs.map(
    (run): Action => ({
      kind: "start",
      run,
      workflow: "gather",
      input: { salt: run, topic, count, bell },
    }),
  );
  // Each run may receive one more than it needs, so there must be enough for all.
  const enough = (count + 1) * runs.length;
  const emits = Array.from({ length: enough + random.between(0, 1) }, (_, k): readonly Action[] => [
    { kind: "pause", ms: random.between(0, 80) },
    { kind: "emit", topic, id: postId(sender, topic, k), consume: "one" },
  ]).flat();
  const ring: Action = { kind: "emit", topic: bell, id: postId(sender, bell, 0), consume: "all" };
  return [
    ...(random.chance(0.5) ? [...starts, ...emits] : [...emits, ...starts]),
    ring,
    ...(random.chance(0.3) ? [ring] : []),
    ...runs.map((run): Action => ({ kind: "await", run })),
  ];
};

const doomed: ScenarioBuilder = (sender, random) => {
  const run = `${sender}-doomed`;
  const napMs = random.between(100, 800);
  return [
    { kind: "start", run, workflow: "doomed", input: { salt: run, napMs } },
    { kind: "send", to: run, name: "late", id: postId(sender, "late", 0) },
    { kind: "pause", ms: random.between(0, 900) },
    { kind: "cancel", run },
    { kind: "await", run },
  ];
};

const transactions: ScenarioBuilder = (sender, random) => {
  const run = `${sender}-transactions`;
  return [
    { kind: "start", run, workflow: "transactions", input: { salt: run, lines: random.between(3, 20) } },
    { kind: "await", run },
  ];
};

const transfers: ScenarioBuilder = (sender, random) => {
  const auditor = `${sender}-auditor`;
  const runs = ["x", "y"].map((each) => `${sender}-transfer-${each}`);
  const start = (run: string): Action => {
    const napMs = random.between(0, 200);
    // At about the time at which a payment ends.
    const fate = random.pick(["settle", "clash", "chase", "chase", "refuse"] as const);
    const clashMs = fate === "clash" ? Math.max(0, napMs + random.between(-60, 120)) : 0;
    const input = { salt: run, auditor, napMs, clashMs, patienceMs: random.between(50, 300), fate };
    return { kind: "start", run, workflow: "transfer", input };
  };
  const confirm = (run: string): Action => ({ kind: "send", to: run, name: "confirm", id: postId(run, "confirm", 0) });
  const cancel = (run: string): readonly Action[] =>
    random.chance(0.3)
      ? [
          { kind: "pause", ms: random.between(0, 400) },
          { kind: "cancel", run },
        ]
      : [];
  return [
    {
      kind: "start",
      run: auditor,
      workflow: "auditor",
      input: { salt: auditor, count: runs.length, patienceMs: 1_000 },
    },
    ...runs.map(start),
    ...runs.flatMap((run) => (random.chance(0.6) ? [confirm(run)] : [])),
    ...runs.flatMap(cancel),
    ...[...runs, auditor].map((run): Action => ({ kind: "await", run })),
  ];
};

const BUILDERS: readonly ScenarioBuilder[] = [
  chain,
  chain,
  mailbox,
  mailbox,
  together,
  together,
  relay,
  family,
  pair,
  gather,
  doomed,
  transfers,
  transfers,
];
