import { expect, test } from "vitest";
import type { TaskFacts } from "../model/human-task.ts";
import { documentOf, flows } from "../testing/document.ts";
import { MachineBench } from "../testing/machine-bench.ts";

/** The people and dates of a user task, as models write them. */

async function factsOf(task: string, variables = {}, beside = ""): Promise<TaskFacts | undefined> {
  const one = await MachineBench.of(documentOf(`<startEvent id="s"/>${task}${flows("s -> u")}`, beside));
  one.at = Date.UTC(2026, 0, 31, 12);
  const [command] = one.start(variables).issued.filter(({ kind }) => kind === "task");
  return command?.kind === "task" ? command.facts : undefined;
}

const juel = (text: string): string => ["$", "{", text, "}"].join("");
const role = (name: string, text: string): string =>
  `<${name}><resourceAssignmentExpression><formalExpression>${text}</formalExpression></resourceAssignmentExpression></${name}>`;
const task = (inside: string, attributes = ""): string => `<userTask id="u" ${attributes}>${inside}</userTask>`;

test.each<[string, string, Partial<TaskFacts>]>([
  ["a human performer is the assignee", role("humanPerformer", "ann"), { assignee: "ann", candidateUsers: [] }],
  ["an expression of a human performer is evaluated", role("humanPerformer", juel("boss")), { assignee: "bob" }],
  [
    "potential owners are candidates",
    role("potentialOwner", "user(ann), group(sales), board, user(bob)"),
    { assignee: null, candidateUsers: ["ann", "bob"], candidateGroups: ["sales", "board"] },
  ],
  [
    "an expression of potential owners may be a list",
    role("potentialOwner", "=[team, &quot;x&quot;]"),
    { candidateGroups: ["red", "x"] },
  ],
  [
    "an expression may be inside an entry",
    role("potentialOwner", `user(${juel("boss")})`),
    { candidateUsers: ["bob"] },
  ],
  [
    "roles of resources are candidate groups",
    '<performer><resourceRef>R</resourceRef></performer><potentialOwner name="guests"/>',
    { candidateGroups: ["Clerks", "guests"] },
  ],
])("%s", async (_, inside, facts) => {
  expect(await factsOf(task(inside), { boss: "bob", team: "red" }, '<resource id="R" name="Clerks"/>')).toMatchObject(
    facts,
  );
});

test("an extension of a user task takes precedence over its performers", async () => {
  const facts = await factsOf(
    task(role("humanPerformer", "ann") + role("potentialOwner", "sales"), 'pawl:assignee="carl"'),
  );
  expect(facts).toMatchObject({ assignee: "carl", candidateGroups: ["sales"] });
});

test("due dates and follow-up dates may be computed from the current time", async () => {
  const due = await factsOf(task("", 'pawl:dueDate="=now() + duration(&quot;P1D&quot;)" pawl:followUpDate="=today()"'));
  expect(due).toMatchObject({ dueAt: Date.UTC(2026, 1, 1, 12), followUpAt: Date.UTC(2026, 0, 31) });
  const juelDue = await factsOf(task("", `pawl:dueDate="${juel("dateTime().plusWeeks(2).toDate()")}"`));
  expect(juelDue).toMatchObject({ dueAt: Date.UTC(2026, 1, 14, 12) });
});

test("an assignee and a priority may be text with expressions inside", async () => {
  const facts = await factsOf(task("", `pawl:assignee="clerk-${juel("n")}" pawl:priority="${juel("n")}0"`), { n: 7 });
  expect(facts).toMatchObject({ assignee: "clerk-7", priority: 70 });
});
