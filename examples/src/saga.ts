/**
 * Undoing what was done, by hand: each step that succeeded adds its undo, and a failure runs them, newest first. The list is
 * a plain array: replay fills it again after a crash, because the same steps succeed in the same order.
 */
import { CriticalError, createEngine, memoryStore, workflow } from "pawl";

interface Trip {
  readonly city: string;
  readonly hotelIsFull: boolean;
}

const book = workflow("book-trip", async (ctx, trip: Trip) => {
  const undo: Array<() => Promise<void>> = [];
  try {
    const flight = await ctx.step("book flight", () => `flight to ${trip.city}`);
    undo.push(() => ctx.step("cancel flight", () => console.log(`cancelled: ${flight}`)));

    const car = await ctx.step("book car", () => `car in ${trip.city}`);
    undo.push(() => ctx.step("cancel car", () => console.log(`cancelled: ${car}`)));

    const hotel = await ctx.step("book hotel", () => {
      if (trip.hotelIsFull) throw new CriticalError("the hotel is full");
      return `hotel in ${trip.city}`;
    });
    return [flight, car, hotel];
  } catch (error) {
    for (const each of undo.reverse()) await each();
    throw error;
  }
});

const engine = await createEngine({ store: memoryStore(), workflows: [book] });

const oslo = await engine.start(book, { city: "Oslo", hotelIsFull: false });
console.log(`booked: ${(await oslo.result()).join(", ")}`);

const rome = await engine.start(book, { city: "Rome", hotelIsFull: true });
await rome.result().catch((error: Error) => console.log(error.cause instanceof Error ? error.cause.message : error));

await engine.shutdown();
