import { PawlError } from "../../model/errors.ts";

/** Unsafe server settings that the caller may accept. Each can lose runs. */
export type RedisRisk = "noAppendOnly" | "eviction";

const VERSION_MIN = 7;

/** Rejects a server that would lose committed rows. `info` is its reply to INFO. */
export function checkServer(info: string, allowed: readonly RedisRisk[]): void {
  const version = field(info, "redis_version");
  if (Number.parseInt(version, 10) < VERSION_MIN) {
    throw unsupported(`Redis ${version} is too old; use version ${VERSION_MIN} or newer`);
  }
  if (!allowed.includes("noAppendOnly") && field(info, "aof_enabled") !== "1") {
    throw unsupported(
      'Redis has no append-only file, so a restart loses all runs; set appendonly yes, or pass allow: ["noAppendOnly"]',
    );
  }
  const policy = field(info, "maxmemory_policy");
  if (!allowed.includes("eviction") && policy !== "noeviction") {
    throw unsupported(
      `Redis may evict runs (maxmemory-policy ${policy}); set maxmemory-policy noeviction, or pass allow: ["eviction"]`,
    );
  }
}

function field(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "";
}

function unsupported(message: string): PawlError {
  return new PawlError("STORE_UNSUPPORTED", message);
}
