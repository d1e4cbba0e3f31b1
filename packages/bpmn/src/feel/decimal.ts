/**
 * Rounds a double to 15 digits, as after each operation: FEEL's numbers are decimals, so 0.1 + 0.2 must be 0.3. Null for a number
 * that is not finite, such as 1/0.
 */
export function decimal(value: number): number | null {
  if (Number.isSafeInteger(value)) return value === 0 ? 0 : value;
  return Number.isFinite(value) ? Number(value.toPrecision(15)) : null;
}

export type Rounding = "up" | "down" | "half up" | "half down" | "half even" | "floor" | "ceiling";

const SCALE_MAX = 6176;

/** Rounds to `scale` decimal places. Null if FEEL does not allow that scale. */
export function rounded(value: number, scale: number, how: Rounding): number | null {
  const digits = Math.trunc(scale);
  if (digits < -SCALE_MAX + 65 || digits > SCALE_MAX) return null;
  const shifted = shift(value, digits);
  // A double has fewer decimal places than that, so the value needs no rounding.
  if (!Number.isFinite(shifted)) return value;
  return decimal(shift(wholeOf(shifted, how), -digits));
}

function wholeOf(value: number, how: Rounding): number {
  const size = Math.abs(value);
  const below = Math.floor(size);
  const rest = decimal(size - below) ?? 0;
  switch (how) {
    case "up":
      return Math.sign(value) * Math.ceil(size);
    case "down":
      return Math.sign(value) * below;
    case "half up":
      return Math.sign(value) * (rest >= 0.5 ? below + 1 : below);
    case "half down":
      return Math.sign(value) * (rest > 0.5 ? below + 1 : below);
    case "half even":
      return Math.sign(value) * (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below);
    case "floor":
      return Math.floor(value);
    case "ceiling":
      return Math.ceil(value);
  }
}

/** Moves the decimal point in the text of the number. A multiplication would not be exact. */
function shift(value: number, digits: number): number {
  const [mantissa = "0", exponent = "0"] = String(value).split("e");
  return Number(`${mantissa}e${Number(exponent) + digits}`);
}

/** The number as text with all digits, never with an exponent. */
export function numberText(value: number): string {
  const text = String(value);
  if (!text.includes("e")) return text;
  const [mantissa = "0", exponent = "0"] = text.split("e");
  const sign = mantissa.startsWith("-") ? "-" : "";
  const [whole = "0", fraction = ""] = mantissa.replace("-", "").split(".");
  const places = Number(exponent);
  if (places < 0) return `${sign}0.${"0".repeat(-places - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction.padEnd(places, "0")}`;
}
