import { type DocumentView, type Engine, type Page, PawlError } from "pawl";
import { freshId } from "../runtime/system.ts";

/**
 * - `draft`: cannot be started.
 * - `published`: started by default, if it is the latest.
 * - `deprecated`: started only by its version number.
 * - `archived`: cannot be started.
 */
export type DeploymentState = "draft" | "published" | "deprecated" | "archived";

export interface DeploymentAction {
  readonly id: string;
  readonly state: DeploymentState;
  readonly by: string | null;
}

/** One version of a process. */
export interface Deployment {
  readonly process: string;
  readonly version: number;
  /** Hash of the model. */
  readonly hash: string;
  readonly state: DeploymentState;
  readonly history: readonly DeploymentAction[];
}

/** A deployment as it is listed. */
export type DeploymentView = Deployment & {
  /** Set if the engine's codec cannot read the deployment. Its history is empty then. */
  readonly unreadable: PawlError | null;
};

const KIND = "deployment";
const ATTEMPTS_MAX = 20;

/** The allowed state changes. */
const NEXT: Readonly<Record<DeploymentState, readonly DeploymentState[]>> = {
  draft: ["published", "archived"],
  published: ["deprecated"],
  deprecated: ["published", "archived"],
  archived: [],
};

/** The states of deployed versions, stored as documents. A version without a document counts as published. */
export class Deployments {
  readonly #documents: Engine["documents"];
  readonly #states = new Map<string, DeploymentState>();

  constructor(documents: Engine["documents"]) {
    this.#documents = documents;
  }

  /** The state at the last read. */
  stateOf(process: string, version: number): DeploymentState {
    return this.#states.get(idOf(process, version)) ?? "published";
  }

  async refresh(): Promise<void> {
    for (let cursor: string | undefined; ; ) {
      const page: Page<DocumentView<Deployment>> = await this.#documents.list<Deployment>({
        kind: KIND,
        ...(cursor !== undefined && { cursor }),
      });
      for (const { id, attributes } of page.items) this.#states.set(id, attributes.d as DeploymentState);
      if (page.cursor === null) return;
      cursor = page.cursor;
    }
  }

  async list(process: string): Promise<readonly DeploymentView[]> {
    const found: DeploymentView[] = [];
    for (let cursor: string | undefined; ; ) {
      const page: Page<DocumentView<Deployment>> = await this.#documents.list<Deployment>({
        kind: KIND,
        where: { a: process },
        ...(cursor !== undefined && { cursor }),
      });
      found.push(...page.items.map(viewOf));
      if (page.cursor === null) return found.sort((left, right) => left.version - right.version);
      cursor = page.cursor;
    }
  }

  /** Records the state of a new version. An existing state is kept. */
  async record(deployment: Omit<Deployment, "history">): Promise<void> {
    const history = [{ id: freshId(), state: deployment.state, by: null }];
    await this.#documents.revise(null, documentOf({ ...deployment, history }));
    await this.#read(deployment.process, deployment.version);
  }

  /** Changes the state of a version. Of two concurrent changes, the second is checked against the state that the first left. */
  async change(
    { process, version, hash }: Pick<Deployment, "process" | "version" | "hash">,
    state: DeploymentState,
    by: string | null,
  ): Promise<Deployment> {
    const act = { id: freshId(), state, by };
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const seen = await this.#read(process, version);
      if (seen !== null && seen.unreadable !== null) throw seen.unreadable;
      const was = seen?.value ?? { process, version, hash, state: "published" as const, history: [] };
      if (was.history.some(({ id }) => id === act.id)) return was;
      if (!NEXT[was.state].includes(state)) {
        const may = NEXT[was.state].join(" or ") || "nothing else";
        const text = `process ${process} version ${version} is ${was.state}; it cannot become ${state}, only ${may}`;
        throw new PawlError("DEPLOYMENT_STATE", text);
      }
      const next: Deployment = { ...was, state, history: [...was.history, act] };
      if ((await this.#documents.revise(seen, documentOf(next))).kind !== "done") continue;
      this.#states.set(idOf(process, version), state);
      return next;
    }
    throw new PawlError(
      "DEPLOYMENT_STATE",
      `cannot change process ${process} version ${version}: it kept changing; try again`,
    );
  }

  async #read(process: string, version: number) {
    const seen = await this.#documents.get<Deployment>(KIND, idOf(process, version));
    if (seen !== null) this.#states.set(seen.id, seen.attributes.d as DeploymentState);
    return seen;
  }
}

/** The attributes hold everything but the history. */
function viewOf({ id, value, unreadable, attributes }: DocumentView<Deployment>): DeploymentView {
  if (unreadable === null) return { ...value, unreadable };
  const { a: process = "", c: hash = "", d: state } = attributes;
  const version = Number(id.slice(id.lastIndexOf(" ") + 1));
  return { process, version, hash, state: state as DeploymentState, history: [], unreadable };
}

function documentOf(value: Deployment) {
  const { process, version, state } = value;
  return {
    kind: KIND,
    id: idOf(process, version),
    runId: null,
    value,
    attributes: { a: process, c: value.hash, d: state },
  };
}

function idOf(process: string, version: number): string {
  return `${process} ${version}`;
}
