import { PawlError } from "../../model/errors.ts";
import { nextLocation } from "../../model/location.ts";
import { checkName } from "../../model/names.ts";
import type { RecordKind } from "../../model/record.ts";
import type { Branch } from "./branch.ts";
import { mark } from "./mark.ts";

/** What a run that has passed a place before the place had versions goes by. */
const FIRST = 1;

/**
 * A run that comes here for the first time goes by the latest version, and that is noted. One that was here before, with code
 * that knew of no versions, goes by the first: its journal goes on without a note. It may go on elsewhere: what was in this scope
 * may have left no record.
 */
export async function getVersion(branch: Branch, name: string, latest: number): Promise<number> {
  if (!Number.isSafeInteger(latest) || latest < FIRST) {
    throw new PawlError("OPTION_INVALID", `version ${name}: ${latest} is not a whole number from ${FIRST} on`);
  }
  const { host, scope } = branch;
  const location = nextLocation(scope, checkName(name, "name of version"));
  if (!host.ahead.holds(location, "version") && host.ahead.continues("")) return FIRST;
  const version = await mark(branch, { record: "version", location, value: latest, detail: null });
  if (version <= latest) return version;
  throw new PawlError(
    "OPTION_INVALID",
    `version ${name} of run ${host.runId} is ${version}, and this code knows versions up to ${latest}: deploy code that knows it`,
  );
}

/** What was here is not asked for any more; runs that have it in their journal go past it. */
export function removed(branch: Branch, name: string, kind: RecordKind): void {
  branch.host.skip(nextLocation(branch.scope, checkName(name, "name of what was removed")), kind);
}
