import { createHash } from "node:crypto";
import { type DocumentView, type Engine, type Page, PawlError } from "pawl";
import type { Binding } from "../model/process.ts";
import { freshId } from "../runtime/system.ts";

export type ResourceType = "decisions" | "form";

/** A decision model or a form, as it is deployed. */
export interface NewResource {
  readonly type: ResourceType;
  /** The id of the DMN definitions, or of the form. */
  readonly id: string;
  readonly versionTag: string | null;
  /** A decision model and the models that it imports, or a form. */
  readonly texts: readonly string[];
  /** The ids and names of its decisions, with their version tags. */
  readonly decisions: Readonly<Record<string, string | null>>;
}

/** One version of a decision model or a form. */
export interface Resource extends NewResource {
  readonly version: number;
  readonly hash: string;
  readonly deployedAt: number;
}

/** A deployed version of a decision model or a form. */
export interface DeployedResource {
  readonly type: ResourceType;
  readonly id: string;
  readonly version: number;
  readonly versionTag: string | null;
  /** False if the latest version already had the same content. */
  readonly isNew: boolean;
}

/** Where a decision is: in a version of a model. */
interface DecisionEntry {
  readonly model: string;
  readonly version: number;
  readonly versionTag: string | null;
  readonly deployedAt: number;
}

const RESOURCE_KIND = "bpmn resource";
const DECISION_KIND = "bpmn decision";
const ATTEMPTS_MAX = 100;
const CACHED_MAX = 200;

type Documents = Pick<Engine["documents"], "get" | "list" | "revise">;

/**
 * Deployed decision models and forms, as documents. A version is never changed. Its id contains its number, so that two concurrent
 * deployments get different versions.
 */
export class Resources {
  readonly #documents: Documents;
  readonly #now: () => number;
  readonly #cache = new Map<string, Resource>();

  constructor(documents: Documents, now: () => number) {
    this.#documents = documents;
    this.#now = now;
  }

  /** Deploys a resource as the next version. Unchanged content keeps its version. */
  async deploy(given: NewResource): Promise<DeployedResource> {
    const { type, id, versionTag } = given;
    const hash = hashOf(given);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const latest = (await this.versions(type, id)).at(-1);
      if (latest?.hash === hash) {
        // A deployment that stopped between its documents is completed.
        await this.#enter(latest);
        return { type, id, version: latest.version, versionTag, isNew: false };
      }
      const version = (latest?.version ?? 0) + 1;
      const made: Resource = { ...given, version, hash, deployedAt: this.#now() };
      if (await this.#write(RESOURCE_KIND, idOf(type, id, version), made, { a: `${type} ${id}`, c: hash })) {
        await this.#enter(made);
        return { type, id, version, versionTag, isNew: true };
      }
    }
    throw new PawlError("PROCESS_STATE", `cannot deploy ${type} ${id}: other deployments kept taking the next version`);
  }

  /** All versions, oldest first. */
  async versions(type: ResourceType, id: string): Promise<readonly Resource[]> {
    const found = await this.#all<Resource>(RESOURCE_KIND, `${type} ${id}`);
    return found.sort((a, b) => a.version - b.version);
  }

  /** The version of a form that a binding selects. Null if there is none. */
  async form(id: string, binding: Binding | null): Promise<Resource | null> {
    if (binding?.kind === "version") return await this.version("form", id, binding.version);
    const all = await this.versions("form", id);
    return all.findLast(({ versionTag }) => binding?.kind !== "versionTag" || versionTag === binding.tag) ?? null;
  }

  /** The version of the model that has the decision. Null if there is none. */
  async decision(name: string, binding: Binding | null): Promise<Resource | null> {
    const entries = (await this.#all<DecisionEntry>(DECISION_KIND, name)).filter(({ version, versionTag }) => {
      if (binding?.kind === "version") return version === binding.version;
      return binding?.kind !== "versionTag" || versionTag === binding.tag;
    });
    const newest = entries.sort((a, b) => a.deployedAt - b.deployedAt || a.version - b.version).at(-1);
    return newest === undefined ? null : await this.version("decisions", newest.model, newest.version);
  }

  /** One version. Null if there is none. */
  async version(type: ResourceType, id: string, version: number): Promise<Resource | null> {
    const key = idOf(type, id, version);
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const found = await this.#documents.get<Resource>(RESOURCE_KIND, key);
    if (found === null) return null;
    if (found.unreadable !== null) throw found.unreadable;
    const [oldest] = this.#cache.keys();
    if (oldest !== undefined && this.#cache.size >= CACHED_MAX) this.#cache.delete(oldest);
    this.#cache.set(key, found.value);
    return found.value;
  }

  /** Enters each decision of a model, so that it is found by its name. */
  async #enter({ id, version, decisions, deployedAt }: Resource): Promise<void> {
    for (const [name, versionTag] of Object.entries(decisions)) {
      const entry: DecisionEntry = { model: id, version, versionTag, deployedAt };
      await this.#write(DECISION_KIND, `${name} ${idOf("decisions", id, version)}`, entry, { a: name });
    }
  }

  /** False if the document exists. */
  async #write(kind: string, id: string, value: object, attributes: { a: string; c?: string }): Promise<boolean> {
    const document = { kind, id, runId: null, value: { ...value, claim: freshId() }, attributes };
    return (await this.#documents.revise(null, document)).kind === "done";
  }

  async #all<Value>(kind: string, name: string): Promise<Value[]> {
    const found: Value[] = [];
    for (let cursor: string | undefined; ; ) {
      const where = { a: name };
      const page: Page<DocumentView<Value>> = await this.#documents.list<Value>({
        kind,
        where,
        ...(cursor && { cursor }),
      });
      for (const each of page.items) {
        if (each.unreadable !== null) throw each.unreadable;
        found.push(each.value);
      }
      if (page.cursor === null) return found;
      cursor = page.cursor;
    }
  }
}

function idOf(type: ResourceType, id: string, version: number): string {
  return `${type} ${id} ${version}`;
}

function hashOf({ texts, versionTag }: NewResource): string {
  return createHash("sha256")
    .update(JSON.stringify([texts, versionTag]))
    .digest("hex");
}
