import { type Random, seededRandom } from "pawl";
import { type Inputs, NOTHING_TOLD, parcelId, TOPICS, type WorkflowName } from "./inputs.ts";

type StartAction = {
  readonly [Name in WorkflowName]: {
    readonly kind: "start";
    readonly run: string;
    readonly workflow: Name;
    readonly input: Inputs[Name];
  };
}[WorkflowName];

/** A call to the engine; each has an id, so that it may be repeated. */
export type CallAction =
  | StartAction
  | { readonly kind: "send"; readonly to: string; readonly name: string; readonly id: string }
  | { readonly kind: "emit"; readonly topic: string; readonly id: string; readonly consume: "one" | "all" }
  | { readonly kind: "cancel"; readonly run: string };

/** What a client does, one after the other. Done again from the start by another client, it comes to the same. */
export type Action =
  | CallAction
  | { readonly kind: "pause"; readonly ms: number }
  | { readonly kind: "await"; readonly run: string };

export interface Scenario {
  readonly index: number;
  readonly actions: readonly Action[];
}

/** What the store can do beyond what every store can. */
export interface Features {
  readonly transactions?: boolean;
}

/** Pure: the same seed and index give the same scenario. */
export function scenarioAt(seed: number, index: number, features: Features = {}): Scenario {
  const dice = new Dice(seededRandom(seed * 7_919 + index));
  const make = dice.pick(features.transactions === true ? [...SCENES, books, books] : SCENES);
  return { index, actions: make(`c${index}`, dice) };
}

/** Takes what was left on the topics, when nothing else runs. */
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

class Dice {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.#random.next() * (most - least + 1));
  }

  chance(part: number): boolean {
    return this.#random.next() < part;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.between(0, items.length - 1)];
    if (item === undefined) throw new Error("there is nothing to pick from");
    return item;
  }
}

type Scene = (sender: string, dice: Dice) => readonly Action[];

const chain: Scene = (sender, dice) => {
  const run = `${sender}-chain`;
  const input = {
    salt: run,
    steps: dice.between(2, 5),
    fails: dice.between(0, 2),
    napMs: dice.between(10, 400),
    hopeless: dice.chance(0.3),
  };
  return [
    { kind: "start", run, workflow: "chain", input },
    ...(dice.chance(0.2) ? [{ kind: "start", run, workflow: "chain", input } as const] : []),
    { kind: "await", run },
  ];
};

const mailbox: Scene = (sender, dice) => {
  const run = `${sender}-mailbox`;
  const notes = dice.between(2, 6);
  const patienceMs = dice.between(50, 400);
  const bulk = dice.between(2, 4);
  const send = (name: string, k: number): Action => ({ kind: "send", to: run, name, id: parcelId(sender, name, k) });
  const note = (k: number): readonly Action[] => [
    ...(dice.chance(0.5) ? [{ kind: "pause", ms: dice.between(5, 120) } as const] : []),
    send("note", k),
    ...(dice.chance(0.2) ? [send("note", k)] : []),
  ];
  return [
    { kind: "start", run, workflow: "mailbox", input: { salt: run, notes, bulk, patienceMs } },
    ...Array.from({ length: notes + dice.between(0, 1) }, (_, k) => note(k)).flat(),
    // At about the time at which the run stops waiting for it.
    { kind: "pause", ms: dice.between(0, patienceMs) },
    ...(dice.chance(0.7) ? [send("maybe", 0)] : []),
    ...Array.from({ length: dice.between(0, bulk + 1) }, (_, k) => send("bulk", k)),
    { kind: "await", run },
    ...(dice.chance(0.3) ? [send("note", 99)] : []),
  ];
};

const together: Scene = (sender, dice) => {
  const run = `${sender}-together`;
  const patienceMs = dice.between(100, 300);
  return [
    { kind: "start", run, workflow: "together", input: { salt: run, slowMs: dice.between(50, 500), patienceMs } },
    { kind: "pause", ms: Math.max(0, patienceMs - dice.between(0, 120)) },
    { kind: "send", to: run, name: "maybe", id: parcelId(sender, "maybe", 0) },
    { kind: "await", run },
  ];
};

const relay: Scene = (sender, dice) => {
  const run = `${sender}-relay`;
  const rounds = dice.between(2, 5);
  return [
    { kind: "start", run, workflow: "relay", input: { salt: run, rounds, round: 0, told: NOTHING_TOLD } },
    ...Array.from({ length: rounds }, (_, k): readonly Action[] => [
      { kind: "pause", ms: dice.between(0, 150) },
      { kind: "send", to: run, name: "tick", id: parcelId(sender, "tick", k) },
    ]).flat(),
    { kind: "await", run },
  ];
};

const family: Scene = (sender, dice) => {
  const run = `${sender}-family`;
  return [
    { kind: "start", run, workflow: "family", input: { salt: run, napMs: dice.between(10, 300) } },
    { kind: "await", run },
  ];
};

const pair: Scene = (sender, dice) => {
  const ping = `${sender}-ping`;
  const pong = `${sender}-pong`;
  const count = dice.between(1, 4);
  const topic = dice.pick(TOPICS);
  return [
    { kind: "start", run: pong, workflow: "pong", input: { salt: pong, to: ping, count } },
    { kind: "start", run: ping, workflow: "ping", input: { salt: ping, to: pong, count, topic } },
    { kind: "await", run: ping },
    { kind: "await", run: pong },
  ];
};

const gather: Scene = (sender, dice) => {
  const topic = dice.pick(TOPICS);
  const bell = `${sender}-bell`;
  const count = dice.between(1, 3);
  const runs = ["x", "y"].map((each) => `${sender}-gather-${each}`);
  const starts = runs.map(
    (run): Action => ({
      kind: "start",
      run,
      workflow: "gather",
      input: { salt: run, topic, count, bell },
    }),
  );
  // Each run takes one more than it needs, if there is one: nobody may be left without.
  const enough = (count + 1) * runs.length;
  const emits = Array.from({ length: enough + dice.between(0, 1) }, (_, k): readonly Action[] => [
    { kind: "pause", ms: dice.between(0, 80) },
    { kind: "emit", topic, id: parcelId(sender, topic, k), consume: "one" },
  ]).flat();
  const ring: Action = { kind: "emit", topic: bell, id: parcelId(sender, bell, 0), consume: "all" };
  return [
    ...(dice.chance(0.5) ? [...starts, ...emits] : [...emits, ...starts]),
    ring,
    ...(dice.chance(0.3) ? [ring] : []),
    ...runs.map((run): Action => ({ kind: "await", run })),
  ];
};

const doomed: Scene = (sender, dice) => {
  const run = `${sender}-doomed`;
  const napMs = dice.between(100, 800);
  return [
    { kind: "start", run, workflow: "doomed", input: { salt: run, napMs } },
    { kind: "send", to: run, name: "late", id: parcelId(sender, "late", 0) },
    { kind: "pause", ms: dice.between(0, 900) },
    { kind: "cancel", run },
    { kind: "await", run },
  ];
};

const books: Scene = (sender, dice) => {
  const run = `${sender}-books`;
  return [
    { kind: "start", run, workflow: "books", input: { salt: run, lines: dice.between(3, 20) } },
    { kind: "await", run },
  ];
};

const SCENES: readonly Scene[] = [
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
];
