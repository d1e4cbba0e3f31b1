/**
 * A saga: each step has a rollback. When the trip fails or is cancelled, the completed bookings are rolled back, newest first, even if the
 * process crashes meanwhile.
 */
import { CriticalError, createEngine, memoryStore, rollbackFailures, workflow } from "pawl";

interface Trip {
  readonly city: string;
  readonly hotelIsFull: boolean;
}

const undo = (booking: string): void => console.log(`cancelled: ${booking}`);

const book = workflow("book-trip", async (ctx, trip: Trip) => {
  const flight = await ctx.step("flight", () => `flight to ${trip.city}`, { rollback: undo });

  // Car and hotel are booked in parallel.
  const { car, hotel } = await ctx.join("stay", {
    car: (c) => c.step("car", () => `car in ${trip.city}`, { rollback: undo }),
    hotel: (c) =>
      c.step("hotel", () => {
        if (trip.hotelIsFull) throw new CriticalError("the hotel is full");
        return `hotel in ${trip.city}`;
      }),
  });

  const insurance = await ctx.step("insurance", () => `insurance for ${trip.city}`, {
    rollback: {
      run: (policy) => {
        throw new Error(`${policy} can't be cancelled`);
      },
      retry: { maxAttempts: 2, initialMs: 10 },
    },
  });

  await ctx.listen("paid");
  // After this checkpoint nothing is rolled back.
  await ctx.rollbackCheckpoint("paid");
  return [flight, car, hotel, insurance];
});

const engine = await createEngine({ store: memoryStore(), workflows: [book] });

const oslo = await engine.start(book, { city: "Oslo", hotelIsFull: false });
await oslo.send("paid", null);
console.log(`booked: ${(await oslo.result()).join(", ")}`);

const rome = await engine.start(book, { city: "Rome", hotelIsFull: true }, { id: "rome" });
await rome.result().catch((error: Error) => console.log(error.message));

const bonn = await engine.start(book, { city: "Bonn", hotelIsFull: false }, { id: "bonn" });
for await (const { location } of bonn.watch()) if (location === "insurance") break;
await bonn.cancel("the customer is ill");
await bonn.result().catch((error: Error) => {
  console.log(error.message);
  for (const { step, error: why } of rollbackFailures(error)) console.log(`left behind: ${step}, ${why.message}`);
});

await engine.shutdown();
