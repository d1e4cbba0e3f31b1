/** A planted bug: one rule of the machine broken by a textual edit of what was built. `find` occurs once in the file. */
export interface Mutant {
  readonly name: string;
  /** Under `machine` of the built package. */
  readonly file: string;
  /** However it is broken into lines there. */
  readonly find: string;
  readonly replace: string;
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: "an inclusive join does not wait for what can still come",
    file: "inclusive.js",
    find: "if (canFill && !filled.some((flow) => up.get(flow)?.has(position)))",
    replace: "if (false)",
  },
  {
    name: "an inclusive join waits for what comes to it in any case",
    file: "inclusive.js",
    find: "if (canFill && !filled.some((flow) => up.get(flow)?.has(position)))",
    replace: "if (position !== gateway.id)",
  },
  {
    name: "a complex join fires anew with each token",
    file: "inclusive.js",
    find: "role.resets[gateway.id] = flows;",
    replace: "void flows;",
  },
  {
    name: "a parallel join does not wait for all",
    file: "flows.js",
    find: "gateway.incoming.some((flow) => (held[flow] ?? 0) === 0)",
    replace: "gateway.incoming.every((flow) => (held[flow] ?? 0) === 0)",
  },
  {
    name: "the default flow is taken as if it had a condition that is met",
    file: "flows.js",
    find: "if (id === gateway.default) return false;",
    replace: "",
  },
  {
    name: "the events on the edge of an activity stay open when it is done",
    file: "live.js",
    find: "for (const place of [...places])",
    replace: "for (const place of [])",
  },
  {
    name: "an event that interrupts leaves its activity",
    file: "catching.js",
    find: "if (isInterrupting) removeTree(live, host);",
    replace: "",
  },
  {
    name: "an event sub-process that interrupts leaves the tokens of its scope",
    file: "catching.js",
    find: "clearAllBut(live, scope); return;",
    replace: "return;",
  },
  {
    name: "an event-based gateway waits on for what has lost",
    file: "catching.js",
    find: "removeRow(live, row); return; } unsubscribe(live, subscription.place);",
    replace: "return; } unsubscribe(live, subscription.place);",
  },
  {
    name: "an event that does not interrupt is heard once",
    file: "catching.js",
    find: "subscribeAgain(live, row, element, subscription); return true;",
    replace: "return true;",
  },
  {
    name: "a multi-instance activity is done one instance early",
    file: "loops.js",
    find: "role.ended === role.total",
    replace: "role.ended + 1 >= role.total",
  },
  {
    name: "a multi-instance activity that has enough leaves the rest",
    file: "loops.js",
    find: "clearScope(live, body);",
    replace: "",
  },
  {
    name: "what instances give is gathered in the order in which they end",
    file: "loops.js",
    find: "role.outputs[row.instance] = output;",
    replace: "role.outputs[role.ended - 1] = output;",
  },
  {
    name: "a standard loop does not know its maximum",
    file: "loops.js",
    find: "if (maximum !== null && ended >= maximum)",
    replace: "if (maximum !== null && ended > maximum)",
  },
  {
    name: "compensation begins with the oldest",
    file: "undoing.js",
    find: ".sort((a, b) => b.order - a.order)",
    replace: ".sort((a, b) => a.order - b.order)",
  },
  {
    name: "the same is undone twice",
    file: "undoing.js",
    find: "undo.filter((each) => !mine.includes(each))",
    replace: "undo",
  },
  {
    name: "a cancelled transaction undoes nothing",
    file: "undoing.js",
    find: "const queue = [...above.role.undo].reverse();",
    replace: "const queue = [];",
  },
  {
    name: "one of several transactions that is cancelled goes on inside of the others",
    file: "undoing.js",
    find: "row.instance === null ? row : live.rows.get(row.parent)",
    replace: "row",
  },
  {
    name: "an error is caught for all codes before its own",
    file: "throwing.js",
    find: "return exact ?? events.find((event) => catches(event, null)) ?? null;",
    replace: "return events.find((event) => catches(event, null)) ?? exact ?? null;",
  },
  {
    name: "an event sub-process catches what is thrown while it has interrupted its scope",
    file: "throwing.js",
    find: "|| row.role.interruptedBy !== null",
    replace: "",
  },
  {
    name: "work that is done again opens the edge of its activity anew",
    file: "acting.js",
    find: '"again" : again',
    replace: '"begin" : again',
  },
  {
    name: "a cycle counts from when its timer was heard",
    file: "subscribe.js",
    find: "nextDue(timerOf(live, row, trigger), due)",
    replace: "nextDue(timerOf(live, row, trigger), { ...due, at: live.at })",
  },
  {
    name: "a command sees variables that are set later",
    file: "variables.js",
    find: "target.variables = { ...target.variables };",
    replace: "target.variables ??= {};",
  },
  {
    name: "a scope completes as often as it is found to be over",
    file: "scopes.js",
    find: "&& !live.over.has(row.id)",
    replace: "",
  },
  {
    name: "a state that is rebuilt forgets which joins wait",
    file: "live.js",
    find: "live.joining.add(row.id);",
    replace: "void row;",
  },
  {
    name: "a state that is rebuilt forgets which row a command belongs to",
    file: "live.js",
    find: "own(live, command.row, command.place); } for (const [name, count]",
    replace: "void command; } for (const [name, count]",
  },
];
