import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Process, readBpmn, readXml, rewriteBpmn } from "@pawl/bpmn";
import { differences } from "./same-document.ts";

export interface MiwgOutcome {
  readonly model: string;
  /** Differences, or the errors of reading the model. Empty if there are none. */
  readonly flaws: readonly string[];
}

/** Reads and writes every model, twice. The documents, and the processes in them, must stay equal. */
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
    return isSame ? lost : [...lost, "the processes differ"];
  } catch (error) {
    return [String(error)];
  }
}

/** Processes as text, without line numbers. */
function shown(processes: readonly Process[]): string {
  return JSON.stringify(processes, (key, value: unknown) => {
    if (key === "line") return null;
    return value instanceof Map ? [...value] : value;
  });
}
