import { checkRunId } from "../../model/names.ts";
import { kinds, readArgument } from "../../model/option-check.ts";
import type { KvDriver, KvEntry, KvWrite } from "./kv-driver.ts";
import { type AlarmRow, earliestFirst, type Namespaces } from "./namespaces.ts";
import { compareBytes, startsWith } from "./tuple.ts";

const ENTRIES = kinds.list(kinds.record<KvEntry>("the entry", { key: kinds.bytes, value: kinds.bytes }), {
  max: Number.MAX_SAFE_INTEGER,
});

/** A namespace in the memory of this process. For tests, and for hosts that store the entries elsewhere. */
export interface MemoryDriver extends KvDriver {
  /** The alarm that is set. Null if there is none. */
  readonly alarm: AlarmRow | null;
  /** Returns a copy of all entries, sorted by key. */
  entries(): readonly KvEntry[];
}

export function memoryDriver(entries: readonly KvEntry[] = []): MemoryDriver {
  return new ProcessDriver(readArgument(ENTRIES, entries, "entries"));
}

/** Each method completes synchronously, so a batch is atomic. Data lives as long as the process. */
class ProcessDriver implements MemoryDriver {
  /** Keys are texts with one character per byte, which sort as the bytes do. */
  readonly #values = new Map<string, KvEntry>();
  #alarm: AlarmRow | null = null;

  constructor(entries: readonly KvEntry[]) {
    for (const { key, value } of entries) this.#put(key, value);
  }

  get alarm(): AlarmRow | null {
    return this.#alarm;
  }

  entries(): readonly KvEntry[] {
    const entries = Array.from(this.#values.values(), copyOf);
    return entries.sort((left, right) => compareBytes(left.key, right.key));
  }

  async get(key: Uint8Array): Promise<Uint8Array | null> {
    return this.#values.get(textOf(key))?.value.slice() ?? null;
  }

  async set(key: Uint8Array, value: Uint8Array): Promise<void> {
    this.#put(key, value);
  }

  async delete(key: Uint8Array): Promise<void> {
    this.#values.delete(textOf(key));
  }

  async deletePrefix(prefix: Uint8Array): Promise<void> {
    for (const [text, { key }] of this.#values) if (startsWith(key, prefix)) this.#values.delete(text);
  }

  async list(prefix: Uint8Array): Promise<readonly KvEntry[]> {
    return this.entries().filter(({ key }) => startsWith(key, prefix));
  }

  async batch(writes: readonly KvWrite[]): Promise<void> {
    for (const { key, value } of writes) {
      if (value === null) this.#values.delete(textOf(key));
      else this.#put(key, value);
    }
  }

  async setAlarm(runId: string, at: number): Promise<void> {
    this.#alarm = { runId, at };
  }

  async clearAlarm(): Promise<void> {
    this.#alarm = null;
  }

  #put(key: Uint8Array, value: Uint8Array): void {
    this.#values.set(textOf(key), copyOf({ key, value }));
  }
}

function textOf(key: Uint8Array): string {
  return String.fromCharCode(...key);
}

function copyOf({ key, value }: KvEntry): KvEntry {
  return { key: key.slice(), value: value.slice() };
}

/** Stores namespaces in the memory of this process. */
export function memoryNamespaces(): Namespaces {
  const drivers = new Map<string, MemoryDriver>();
  return {
    driver(runId) {
      const driver = drivers.get(checkRunId(runId)) ?? memoryDriver();
      drivers.set(runId, driver);
      return driver;
    },
    alarms: async () => earliestFirst([...drivers.values()].flatMap(({ alarm }) => alarm ?? [])),
  };
}
