/** A step of a code workflow evaluates a DMN table. The decision is recorded as the step's result. */
import { decide, readDecisions } from "@pawl/bpmn";
import { createEngine, memoryStore, workflow } from "pawl";

const discounts = readDecisions(`
  <definitions xmlns="https://www.omg.org/spec/DMN/20230324/MODEL/" name="discounts" namespace="urn:discounts">
    <inputData id="customer" name="customer"/>
    <inputData id="amount" name="amount"><variable name="amount" typeRef="number"/></inputData>
    <decision id="discount" name="discount">
      <variable name="discount" typeRef="number"/>
      <informationRequirement><requiredInput href="#customer"/></informationRequirement>
      <informationRequirement><requiredInput href="#amount"/></informationRequirement>
      <decisionTable hitPolicy="COLLECT" aggregation="MAX">
        <input><inputExpression><text>customer.kind</text></inputExpression></input>
        <input><inputExpression typeRef="number"><text>amount</text></inputExpression></input>
        <output/>
        <rule><inputEntry><text>"regular"</text></inputEntry><inputEntry><text>-</text></inputEntry><outputEntry><text>5</text></outputEntry></rule>
        <rule><inputEntry><text>-</text></inputEntry><inputEntry><text>>= 1000</text></inputEntry><outputEntry><text>10</text></outputEntry></rule>
        <rule><inputEntry><text>-</text></inputEntry><inputEntry><text>-</text></inputEntry><outputEntry><text>0</text></outputEntry></rule>
      </decisionTable>
    </decision>
  </definitions>`);

const pricing = workflow("pricing", async (ctx, order: { customer: { kind: string }; amount: number }) => {
  const percent = await ctx.step("discount", () => decide(discounts, "discount", order).value);
  return order.amount * (1 - Number(percent) / 100);
});

const engine = await createEngine({ store: memoryStore(), workflows: [pricing], log: () => undefined });
for (const order of [
  { customer: { kind: "new" }, amount: 100 },
  { customer: { kind: "regular" }, amount: 100 },
  { customer: { kind: "regular" }, amount: 2000 },
]) {
  const run = await engine.start(pricing, order);
  console.log(`${order.customer.kind} pays ${await run.result()} of ${order.amount}`);
}
await engine.shutdown();
