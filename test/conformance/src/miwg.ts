import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Process, readBpmn, readXml, rewriteBpmn } from "@pawl/bpmn";
import { differences } from "./same-document.ts";

export interface MiwgOutcome {
  readonly model: string;
  /** What was lost, or kept the model from being read; empty: nothing. */
  readonly flaws: readonly string[];
}

/** Reads every model and writes it again, twice: the documents have to say the same, and so do the processes in them. */
export async function runMiwg(folder: string): Promise<readonly MiwgOutcome[]> {
  const outcomes: MiwgOutcome[] = [];
  for (const model of readdirSync(folder).sort()) {
    if (!model.endsWith(".bpmn")) continue;
    outcomes.push({ model, flaws: await flawsOf(readFileSync(join(folder, model))) });
  }
  return outcomes;
}

export async function flawsOf(xml: string | Uint8Array): Promise<readonly string[]> {
  try {
    const once = await rewriteBpmn(xml);
    const twice = await rewriteBpmn(once);
    const lost = [...differences(readXml(xml), readXml(once)), ...differences(readXml(once), readXml(twice))];
    const isSame = shown(await readBpmn(xml)) === shown(await readBpmn(once));
    return isSame ? lost : [...lost, "the processes that were read differ"];
  } catch (error) {
    return [String(error)];
  }
}

/** Processes as text; on which line something stood is of no interest. */
function shown(processes: readonly Process[]): string {
  return JSON.stringify(processes, (key, value: unknown) => {
    if (key === "line") return null;
    return value instanceof Map ? [...value] : value;
  });
}
