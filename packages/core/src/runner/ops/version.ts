import { PawlError } from "../../model/errors.ts";
import { checkName } from "../../model/names.ts";
import { kinds, readArgument } from "../../model/option-check.ts";
import { RECORD_KINDS, type RecordKind } from "../../model/record.ts";
import { type Branch, locate } from "./branch.ts";
import { mark } from "./mark.ts";

/** The version of runs that passed this point before it had versions. */
const FIRST = 1;

const LATEST = kinds.integer(FIRST);

/**
 * Returns the version that this run uses.
 *
 * A run that reaches this point live uses `latest`, and records it. A run that passed here with code without versions uses the first
 * version, and records nothing. Such a run is recognized by any later record, even in another scope: this scope may have left none. A
 * run that is suspended beyond this point is recognized by its open waits, and its deadlines do not move.
 */
export async function getVersion(branch: Branch, name: string, latest: number): Promise<number> {
  checkName(name, "name of version");
  readArgument(LATEST, latest, `version ${name}`);
  const { host } = branch;
  const location = locate(branch, name);
  if (!host.ahead.holds(location, "version") && host.ahead.hasHistory) return FIRST;
  const version = await mark(branch, { record: "version", location, value: latest, detail: null });
  if (version <= latest) return version;
  throw new PawlError(
    "OPTION_INVALID",
    `run ${host.runId} uses version ${version} of "${name}", but this code supports up to ${latest}; deploy newer code`,
  );
}

/** Skips the records of a removed operation in runs whose journal has them. */
export function removed(branch: Branch, name: string, recordKind: RecordKind): void {
  checkName(name, "name of removed operation");
  readArgument(RECORD_KIND, recordKind, "kind of the removed operation");
  branch.host.skip(locate(branch, name), recordKind);
}

const RECORD_KIND = kinds.oneOf(...RECORD_KINDS);
