import { type EngineOptions, resolveConfig } from "../engine/config.ts";
import { createCodec } from "../model/payload.ts";
import type { RecordKind } from "../model/record.ts";
import type { Payload, RunFacts } from "../model/run.ts";
import type { DocumentAttributes } from "../model/transition.ts";
import { codeProgram } from "../runner/code-program.ts";
import type { ProgramSettings } from "../runner/ops/branch.ts";
import type { Command } from "../workflow/command.ts";
import type { AnyWorkflow } from "../workflow/ctx.ts";
import type { Ending, JournalAhead, ProgramHost, ResumePoint } from "../workflow/program.ts";
import type { ResourceRequest } from "../workflow/resource-options.ts";

/** What stands between programs and the sessions that interpret them. */
export interface ProgramWrapper {
  /** A command on its way to the session; what is given is issued in its place. */
  issue(command: Command, host: ProgramHost): Command;
  /** The program is over. */
  finish?(ending: Ending, host: ProgramHost): void;
}

/** The same workflow, code or program: what its runs ask for goes through `through`. */
export function wrapWorkflow(workflow: AnyWorkflow, settings: ProgramSettings, through: ProgramWrapper): AnyWorkflow {
  const create = codeProgram(workflow, settings);
  return { ...workflow, program: (host) => create(new HostThrough(host, through)) };
}

/** What an engine with these options says to its workflows. */
export function programSettings(options: EngineOptions): ProgramSettings {
  const config = resolveConfig(options);
  const bytesMax = config.payloadBytesMax;
  const codec = createCodec(config.codec, { bytesMax, warnBytes: bytesMax, onLarge: () => undefined });
  return { ...config, codec };
}

class HostThrough implements ProgramHost {
  readonly #host: ProgramHost;
  readonly #through: ProgramWrapper;

  constructor(host: ProgramHost, through: ProgramWrapper) {
    this.#host = host;
    this.#through = through;
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
    this.#host.issue(this.#through.issue(command, this.#host));
  }
  acquire(request: ResourceRequest): void {
    this.#host.acquire(request);
  }
  finish(ending: Ending): void {
    this.#through.finish?.(ending, this.#host);
    this.#host.finish(ending);
  }
  snapshot(state: unknown): void {
    this.#host.snapshot(state);
  }
  mark(kind: string, id: string, attributes: DocumentAttributes): void {
    this.#host.mark(kind, id, attributes);
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
