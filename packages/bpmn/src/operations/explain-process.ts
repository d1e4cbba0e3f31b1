import type { Explanation } from "pawl";
import type { IncidentView, ProcessView } from "./process-view.ts";
import type { WaitingJoin } from "./waiting-joins.ts";

/** The reason a process run is in its state, with its incidents and its waiting joins. */
export interface ProcessExplanation extends Explanation {
  readonly incidents: readonly IncidentView[];
  readonly joins: readonly WaitingJoin[];
}

/** The number of incidents, and of joins, that a sentence names. It counts the others. */
const NAMED_MAX = 3;

/** Adds what the run's process waits for to the explanation of the run. */
export function explainProcess(explanation: Explanation, { incidents, joins }: ProcessView): ProcessExplanation {
  const isOpen = explanation.why.kind !== "ended" && explanation.why.kind !== "poisoned";
  const parts = isOpen ? [...named(incidents, incidentText, "incidents"), ...named(joins, joinText, "joins")] : [];
  return { ...explanation, sentence: [explanation.sentence, ...parts].join("; "), incidents, joins };
}

function named<Item>(items: readonly Item[], textOf: (item: Item) => string, what: string): readonly string[] {
  const texts = items.slice(0, NAMED_MAX).map(textOf);
  return items.length > NAMED_MAX ? [...texts, `${items.length - NAMED_MAX} more ${what}`] : texts;
}

function incidentText({ element, kind, message }: IncidentView): string {
  return `incident at ${element} (${kind}): ${message}`;
}

function joinText({ element, tokens, tokensNeeded, arrived, missing }: WaitingJoin): string {
  if (tokensNeeded !== null) return `${element} has ${tokens} of the ${tokensNeeded} tokens that it needs to start`;
  const from = (flows: WaitingJoin["missing"]): string =>
    flows.map((each) => `${each.flow} from ${each.from}`).join(", ");
  const rest = missing.length === 0 ? "" : `, and none of ${from(missing)}`;
  return `join ${element} has a token of ${from(arrived)}${rest}`;
}
