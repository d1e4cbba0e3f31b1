import type { Inputs, WorkflowName } from "./inputs.ts";
import { worth } from "./run-output.ts";

type Worth = { readonly [Name in WorkflowName]: (input: Inputs[Name]) => number };

/** The expected value of each workflow for an input, computed without an engine. Parts that depend on timing count 0. */
const EXPECTED: Worth = {
  chain: ({ salt, steps, hopeless }) =>
    sum(Array.from({ length: steps }, (_, i) => worth(salt, `s${i}`))) +
    worth(salt, "light") +
    (hopeless ? -1 : 0) +
    worth(salt, "last"),
  mailbox: ({ salt, notes }) =>
    sum(Array.from({ length: notes }, (_, i) => worth(salt, `note-${i}`))) + worth(salt, "close"),
  together: ({ salt }) => worth(salt, "slow") + worth(salt, "after"),
  relay: ({ salt, rounds }) => sum(Array.from({ length: rounds }, (_, i) => worth(salt, `turn-${i}`))),
  family: (input) =>
    worth(input.salt, "own") + sum(["a", "b", "c"].map((child) => expectedValue("chain", childInput(input, child)))),
  ping: ({ salt, count }) => sum(Array.from({ length: count }, (_, i) => worth(salt, `ping-${i}`))),
  pong: ({ salt, count }) => sum(Array.from({ length: count }, (_, i) => worth(salt, `pong-${i}`))),
  gather: ({ salt, count }) =>
    sum(Array.from({ length: count }, (_, i) => worth(salt, `got-${i}`))) + worth(salt, "bell"),
  doomed: ({ salt }) => worth(salt, "first"),
  transactions: ({ salt, lines }) => worth(salt, "begin") + lines - Math.floor(lines / 3),
  transfer: (input) =>
    worth(input.salt, "reserve") + sum(["a", "b"].map((child) => expectedValue("pay", payInput(input, child)))),
  pay: ({ salt }) => worth(salt, "pay") + worth(salt, "book"),
  auditor: () => 0,
  sweep: () => 0,
};

export function expectedValue<Name extends WorkflowName>(workflow: Name, input: Inputs[Name]): number {
  return EXPECTED[workflow](input);
}

export function isWorkflowName(name: string): name is WorkflowName {
  return Object.hasOwn(EXPECTED, name);
}

/** The input of the child with this name. */
export function childInput({ salt, napMs }: Inputs["family"], child: string): Inputs["chain"] {
  return { salt: `${salt}-${child}`, steps: 2, fails: child === "b" ? 1 : 0, napMs, hopeless: false };
}

/** The input of the payment with this name. */
export function payInput({ salt, napMs }: Inputs["transfer"], child: string): Inputs["pay"] {
  return { salt: `${salt}-${child}`, napMs: child === "a" ? Math.floor(napMs / 3) : napMs, reportTo: salt };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
