import fc from "fast-check";
import { expect, it } from "vitest";
import { FifoQueue } from "./fifo-queue.ts";

const action = fc.oneof(
  fc.record({ kind: fc.constant("push" as const), count: fc.integer({ min: 1, max: 100 }) }),
  fc.record({ kind: fc.constant("take" as const), count: fc.integer({ min: 1, max: 150 }) }),
);

it("a queue returns its items in the order in which they were pushed", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
      const queue = new FifoQueue<number>();
      const model: number[] = [];
      let next = 0;
      for (const { kind, count } of actions) {
        for (let n = 0; n < count; n += 1) {
          if (kind === "take") {
            expect(queue.take()).toBe(model.shift());
          } else {
            queue.push(next);
            model.push(next);
            next += 1;
          }
        }
        expect(queue.size).toBe(model.length);
        expect(queue.first).toBe(model[0]);
        expect(queue.oldest(count)).toEqual(model.slice(0, count));
      }
    }),
  );
});
