/** The machine's time; epoch ms. */
export function systemNow(): number {
  return Date.now();
}
