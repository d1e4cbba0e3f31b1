/**
 * Connections that a run holds only while it is executed: they are closed while the run sleeps, opened before it resumes, and closed at
 * the end in reverse order.
 */
import { createEngine, memoryStore, workflow } from "pawl";

/** A stand-in for the client of a service. */
function connect(service: string): { send(text: string): string; close(): void } {
  console.log(`open ${service}`);
  return { send: (text) => `${service} got ${text}`, close: () => console.log(`close ${service}`) };
}

const remind = workflow("remind", async (ctx, name: string) => {
  const mail = await ctx.resource("mail", { acquire: () => connect("mail"), release: (client) => client.close() });
  const audit = await ctx.resource("audit", { acquire: () => connect("audit"), release: (client) => client.close() });
  console.log(await ctx.step("first", () => mail.value.send(`hello ${name}`)));
  await ctx.sleep(50);
  console.log(await ctx.step("second", () => mail.value.send(`are you there, ${name}?`)));
  await ctx.step("note", () => audit.value.send("two mails"));
});

const engine = await createEngine({ store: memoryStore(), workflows: [remind] });
await (await engine.start(remind, "ann")).result();
await engine.shutdown();
