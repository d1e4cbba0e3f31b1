import { workflow } from "pawl";

/** The client needs the workflow for its name and types; only the worker runs its code. */
export const greeting = workflow("greeting", async (ctx, input: { readonly name: string }) => {
  const text = await ctx.step("compose", () => `hello ${input.name}, from process ${process.pid}`);
  const seen = await ctx.listen<{ readonly by: number }>("seen", { timeout: "30 seconds" });
  return { text, seenBy: seen.timedOut ? null : seen.value.by };
});
