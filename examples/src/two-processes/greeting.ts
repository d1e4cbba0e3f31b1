import { workflow } from "pawl";

export interface Greeted {
  readonly text: string;
  readonly seenBy: number | null;
}

/** Only the worker imports it; the client declares its name and types. */
export const greeting = workflow("greeting", async (ctx, input: { readonly name: string }): Promise<Greeted> => {
  const text = await ctx.step("compose", () => `hello ${input.name}, from process ${process.pid}`);
  const seen = await ctx.listen<{ readonly by: number }>("seen", { timeout: "30 seconds" });
  return { text, seenBy: seen.timedOut ? null : seen.value.by };
});
