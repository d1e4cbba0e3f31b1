import { decimal, type Rounding, rounded } from "../decimal.ts";
import { negated } from "../temporal.ts";
import { type FeelValue, isKind } from "../value.ts";
import { signature } from "./signature.ts";

const round = (name: string, scale: "scale" | "scale?", how: Rounding) =>
  signature(`${name}(n: number, ${scale}: number)`, ([n, digits = null]) =>
    rounded(n as number, (digits as number | null) ?? 0, how),
  );

function modulo(dividend: number, divisor: number): FeelValue {
  if (divisor === 0) return null;
  const quotient = Math.floor(decimal(dividend / divisor) ?? Number.NaN);
  return decimal(dividend - divisor * quotient);
}

function abs(value: FeelValue): FeelValue {
  if (typeof value === "number") return Math.abs(value);
  if (isKind(value, "days and time duration")) return value.nanos < 0n ? negated(value) : value;
  if (isKind(value, "years and months duration")) return value.months < 0 ? negated(value) : value;
  return null;
}

export const NUMBER_FUNCTIONS = [
  round("decimal", "scale", "half even"),
  round("floor", "scale?", "floor"),
  round("ceiling", "scale?", "ceiling"),
  round("round up", "scale", "up"),
  round("round down", "scale", "down"),
  round("round half up", "scale", "half up"),
  round("round half down", "scale", "half down"),
  signature("abs(n: number)", ([value = null]) => abs(value)),
  signature("abs(n: duration)", ([value = null]) => abs(value)),
  signature("modulo(dividend: number, divisor: number)", ([a, b]) => modulo(a as number, b as number)),
  signature("sqrt(number: number)", ([n]) => decimal(Math.sqrt(n as number))),
  signature("log(number: number)", ([n]) => ((n as number) <= 0 ? null : decimal(Math.log(n as number)))),
  signature("exp(number: number)", ([n]) => decimal(Math.exp(n as number))),
  signature("odd(number: number)", ([n]) => Math.abs((n as number) % 2) === 1),
  signature("even(number: number)", ([n]) => (n as number) % 2 === 0),
  signature("random number()", (_, run) => run.world.random?.() ?? null),
];
