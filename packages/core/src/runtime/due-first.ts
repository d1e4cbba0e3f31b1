import type { Agenda } from "./agenda.ts";
import type { Turns } from "./turns.ts";

/**
 * Turns whose end is put off, once, when deadlines have come meanwhile: what waits for them goes on before whoever waits for
 * the end of the turn keeps the loop busy, as a commit does.
 */
export function dueFirst(turns: Turns, agenda: Agenda): Turns {
  return {
    atRest: (callback) => turns.atRest(callback),
    atTurnEnd: (callback) =>
      turns.atTurnEnd(() => {
        if (agenda.catchUp()) turns.atTurnEnd(callback);
        else callback();
      }),
  };
}
