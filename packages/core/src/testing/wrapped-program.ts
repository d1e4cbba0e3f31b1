import { type EngineOptions, resolveConfig } from "../engine/config.ts";
import { createCodec } from "../model/payload.ts";
import type { RecordKind } from "../model/record.ts";
import type { Payload, RunFacts } from "../model/run.ts";
import type { DocumentAttributes } from "../model/transition.ts";
import { codeProgram } from "../runner/code-ctx.ts";
import type { ProgramSettings } from "../runner/ops/branch.ts";
import type { Command } from "../workflow/command.ts";
import type { AnyWorkflow } from "../workflow/ctx.ts";
import type { Ending, JournalAhead, ProgramHost, ProgramIncident, ResumePoint } from "../workflow/program.ts";
import type { ResourceRequest } from "../workflow/resource-options.ts";

/** Intercepts the commands and the end of programs. */
export interface ProgramWrapper {
  /** Returns the command to issue in place of `command`. */
  issue(command: Command, host: ProgramHost): Command;
  /** Called when the program ends. */
  finish?(ending: Ending, host: ProgramHost): void;
}

/** Returns a workflow, code or program, whose commands pass through `wrapper`. */
export function wrapWorkflow(workflow: AnyWorkflow, settings: ProgramSettings, wrapper: ProgramWrapper): AnyWorkflow {
  const create = codeProgram(workflow, settings);
  return { ...workflow, program: (host) => create(new WrappedHost(host, wrapper)) };
}

/** The settings of programs in an engine with these options. */
export function programSettings(options: EngineOptions): ProgramSettings {
  const config = resolveConfig(options);
  const bytesMax = config.payloadBytesMax;
  const codec = createCodec(config.codec, { bytesMax, warnBytes: bytesMax, onLarge: () => undefined });
  return { ...config, codec };
}

class WrappedHost implements ProgramHost {
  readonly #host: ProgramHost;
  readonly #wrapper: ProgramWrapper;

  constructor(host: ProgramHost, wrapper: ProgramWrapper) {
    this.#host = host;
    this.#wrapper = wrapper;
  }

  get runId(): string {
    return this.#host.runId;
  }
  get run(): RunFacts {
    return this.#host.run;
  }
  get live(): boolean {
    return this.#host.live;
  }
  get edition(): number {
    return this.#host.edition;
  }
  get seed(): string {
    return this.#host.seed;
  }
  get signal(): AbortSignal {
    return this.#host.signal;
  }
  get ahead(): JournalAhead {
    return this.#host.ahead;
  }
  now(): number {
    return this.#host.now();
  }
  issue(command: Command): void {
    this.#host.issue(this.#wrapper.issue(command, this.#host));
  }
  acquire(request: ResourceRequest): void {
    this.#host.acquire(request);
  }
  finish(ending: Ending): void {
    this.#wrapper.finish?.(ending, this.#host);
    this.#host.finish(ending);
  }
  snapshot(state: unknown): void {
    this.#host.snapshot(state);
  }
  mark(kind: string, id: string, attributes: DocumentAttributes): void {
    this.#host.mark(kind, id, attributes);
  }
  log(...line: Parameters<ProgramHost["log"]>): void {
    this.#host.log(...line);
  }
  incident(incident: ProgramIncident): void {
    this.#host.incident(incident);
  }
  encode(value: unknown, what: string): Payload {
    return this.#host.encode(value, what);
  }
  cancelUnder(path: string, reason: Error): void {
    this.#host.cancelUnder(path, reason);
  }
  startLoop(loop: string): ResumePoint | null {
    return this.#host.startLoop(loop);
  }
  endLoop(loop: string): void {
    this.#host.endLoop(loop);
  }
  firstUndoableIteration(loop: string): number {
    return this.#host.firstUndoableIteration(loop);
  }
  skip(location: string, kind: RecordKind): void {
    this.#host.skip(location, kind);
  }
}
