import { PawlError } from "../../model/errors.ts";

/** What a server may lack if the caller says so: each loses runs. */
export type RedisRisk = "noAppendOnly" | "eviction";

const VERSION_MIN = 7;

/** Refuses a server that would lose what was committed. `info` is its answer to INFO. */
export function checkServer(info: string, allowed: readonly RedisRisk[]): void {
  const version = field(info, "redis_version");
  if (Number.parseInt(version, 10) < VERSION_MIN) {
    throw unsupported(`the server is Redis ${version}; ${VERSION_MIN} or newer is needed`);
  }
  if (!allowed.includes("noAppendOnly") && field(info, "aof_enabled") !== "1") {
    throw unsupported(
      'the server keeps no append-only file, so a restart loses runs; set appendonly yes, or allow "noAppendOnly"',
    );
  }
  const policy = field(info, "maxmemory_policy");
  if (!allowed.includes("eviction") && policy !== "noeviction") {
    throw unsupported(
      `the server evicts keys (maxmemory-policy ${policy}), so runs would vanish; set noeviction, or allow "eviction"`,
    );
  }
}

function field(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "";
}

function unsupported(message: string): PawlError {
  return new PawlError("STORE_UNSUPPORTED", message);
}
