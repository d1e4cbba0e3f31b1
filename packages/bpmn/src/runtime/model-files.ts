import { readFile } from "node:fs/promises";
import { dirname, relative } from "node:path";
import { PawlError } from "pawl";

/** Reads a file of a deployment. A file that is imported must be in the folder of the file that imports it, or below. */
export async function readModelFile(name: string, from: string | null): Promise<Uint8Array> {
  if (from !== null && /^(?:\.\.(?:[/\\]|$)|[/\\]|\w+:)/.test(relative(dirname(from), name)))
    throw new PawlError("MODEL_INVALID", `${from} imports ${name}, which is not in its folder; pass a resolver`);
  try {
    return await readFile(name);
  } catch (error) {
    throw new PawlError("MODEL_INVALID", `cannot read file ${name}; check its path`, { cause: error });
  }
}
