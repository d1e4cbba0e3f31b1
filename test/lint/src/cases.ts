import type { plugin } from "pawl/eslint";

/** A file, or the statements of a workflow function. `ts` if the text is valid only as TypeScript. */
export interface Case {
  readonly body?: string;
  readonly file?: string;
  readonly language?: "ts";
}

export interface BadCase extends Case {
  /** The number of findings. Default 1. */
  readonly findings?: number;
}

export interface RuleCases {
  readonly good: readonly Case[];
  readonly bad: readonly BadCase[];
}

export type CasesByRule = Readonly<Record<keyof typeof plugin.rules, RuleCases>>;

export const body = (text: string): Case => ({ body: text });
export const file = (text: string): Case => ({ file: text });
export const typed = (text: string): Case => ({ file: text, language: "ts" });

export function textOf({ body: statements, file: text }: Case): string {
  if (text !== undefined) return text;
  return `import { Loop, workflow } from "pawl";\nexport const w = workflow("w", async (ctx, input) => {\n${statements}\n});\n`;
}
