import { PawlError } from "../model/errors.ts";

/** As in `engines` of package.json, which npm only warns about. */
const MAJOR_MIN = 20;
const MINOR_MIN = 19;

/** The versions that a platform reports about itself. Bun and Deno also report a version of Node, which says nothing about them. */
export type PlatformVersions = Readonly<Record<string, string | undefined>>;

/** Rejects a Node that lacks functions of the platform which the engine needs. Apart from `engine.ts`, so that tests can pass versions. */
export function checkNode(versions: PlatformVersions | undefined): void {
  if (versions?.node === undefined || versions.bun !== undefined || versions.deno !== undefined) return;
  const [major = 0, minor = 0] = versions.node.split(".").map(Number);
  if (major > MAJOR_MIN || (major === MAJOR_MIN && minor >= MINOR_MIN)) return;
  const least = `${MAJOR_MIN}.${MINOR_MIN}`;
  throw new PawlError("PLATFORM_UNSUPPORTED", `pawl needs Node ${least} or newer; this is Node ${versions.node}`);
}
