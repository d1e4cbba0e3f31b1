import { posix } from "node:path";
import type { PawlError } from "pawl";
import { modelInvalid } from "../definition/problem.ts";
import type { Graph } from "../definition/read-graph.ts";
import { inspectDecisions } from "../dmn/read-decisions.ts";
import { isDmn } from "../dmn/read-source.ts";
import { readCamundaForm } from "../human/camunda-form.ts";
import { flawsOfSchema } from "../human/json-schema.ts";
import { decodeXml } from "../xml/decode-xml.ts";
import { readXml } from "../xml/read-xml.ts";
import { XML_LIMITS, type XmlElement } from "../xml/xml-element.ts";
import type { NewResource } from "./resources.ts";

/** A file to deploy. */
export interface ResourceFile {
  readonly name: string;
  readonly content: string | Uint8Array;
}

/** Returns the content of a file that is deployed, or that `from` imports. */
export type ResolveFile = (name: string, from: string | null) => Promise<string | Uint8Array> | string | Uint8Array;

/** What a file contains. */
export type ReadFile =
  | { readonly kind: "process"; readonly source: string | Graph }
  | { readonly kind: "resource"; readonly resource: NewResource };

const IMPORTS_MAX = 100;

/** Reads a file by its content: a BPMN document, a graph, a DMN document, a form of Camunda or a JSON schema. */
export async function readFile(
  file: ResourceFile,
  all: readonly ResourceFile[],
  resolve: ResolveFile,
): Promise<ReadFile> {
  const text = decodeXml(file.content, XML_LIMITS.charsMax);
  if (!text.trimStart().startsWith("{")) {
    const root = readXml(text);
    if (!isDmn(root)) return { kind: "process", source: text };
    return { kind: "resource", resource: await decisionsOf({ name: file.name, text, root }, all, resolve) };
  }
  const value = jsonOf(file.name, text);
  if (Array.isArray(value.nodes)) return { kind: "process", source: value as unknown as Graph };
  return { kind: "resource", resource: formOf(file.name, text, value) };
}

function jsonOf(name: string, text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw flawed(name, null, `the file is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function flawed(name: string, line: number | null, text: string): PawlError {
  return modelInvalid(name, [{ element: null, line, text }]);
}

function formOf(name: string, text: string, value: Readonly<Record<string, unknown>>): NewResource {
  const own = name.slice(name.lastIndexOf("/") + 1).replace(/\.\w+$/, "");
  const isCamunda = Array.isArray(value.components);
  const read = isCamunda ? readCamundaForm(value) : { id: value.$id, schema: value };
  if (typeof read === "string") throw flawed(name, null, read);
  const flaws = flawsOfSchema(read.schema);
  if (flaws.length > 0) {
    const problems = flaws.map(({ path, text: flaw }) => ({ element: null, line: null, text: `${path} ${flaw}` }));
    throw modelInvalid(name, problems);
  }
  const id = typeof read.id === "string" && read.id !== "" ? read.id : own;
  const tag = typeof value.versionTag === "string" ? value.versionTag : null;
  return { type: "form", id, versionTag: tag, texts: [text], decisions: {} };
}

interface DmnFile {
  readonly name: string;
  readonly text: string;
  readonly root: XmlElement;
}

async function decisionsOf(file: DmnFile, all: readonly ResourceFile[], resolve: ResolveFile): Promise<NewResource> {
  const files = await withImports(file, all, resolve);
  const { model, problems } = inspectDecisions(files.map(({ text }) => text));
  if (problems.length > 0) throw modelInvalid(file.name, problems);
  const { attributes } = file.root;
  const id = attributes.get("id") ?? attributes.get("name") ?? "";
  if (id === "") throw flawed(file.name, file.root.line, "the definitions have no id; add one");
  const tags = tagsIn(file.root);
  const own = [...model.elements.values()].filter(
    (each) => each.kind !== "input" && each.namespace === model.namespace,
  );
  const named = own.flatMap((each) => [each.id, each.name].map((name) => [name, tags.get(each.id) ?? null] as const));
  const decisions = Object.fromEntries(named.filter(([name]) => name !== ""));
  return { type: "decisions", id, versionTag: null, texts: files.map(({ text }) => text), decisions };
}

/** The file and everything that it imports: from the files of the deployment by namespace, otherwise by location. */
async function withImports(
  file: DmnFile,
  all: readonly ResourceFile[],
  resolve: ResolveFile,
): Promise<readonly DmnFile[]> {
  const files = [file];
  const namespaces = new Set([file.root.attributes.get("namespace")]);
  for (let at = 0; at < files.length; at += 1) {
    const from = files[at];
    for (const wanted of from?.root.children.filter(({ name }) => name === "import") ?? []) {
      const namespace = wanted.attributes.get("namespace") ?? "";
      if (from === undefined || namespaces.has(namespace)) continue;
      namespaces.add(namespace);
      files.push(dmnNamed(all, namespace) ?? (await located(wanted, from, resolve)));
      if (files.length > IMPORTS_MAX)
        throw flawed(file.name, null, `the model imports more than ${IMPORTS_MAX} models`);
    }
  }
  return files;
}

function dmnNamed(all: readonly ResourceFile[], namespace: string): DmnFile | undefined {
  for (const { name, content } of all) {
    const text = decodeXml(content, XML_LIMITS.charsMax);
    if (!text.trimStart().startsWith("<")) continue;
    const root = readXml(text);
    if (isDmn(root) && root.attributes.get("namespace") === namespace) return { name, text, root };
  }
  return undefined;
}

async function located(wanted: XmlElement, from: DmnFile, resolve: ResolveFile): Promise<DmnFile> {
  const name = wanted.attributes.get("locationURI");
  const namespace = wanted.attributes.get("namespace") ?? "";
  if (name === undefined) {
    const text = `no file of the deployment has the namespace ${namespace}; deploy it too, or add a locationURI`;
    throw flawed(from.name, wanted.line, text);
  }
  const path = isRelative(name) ? posix.join(posix.dirname(from.name), name) : name;
  const text = decodeXml(await resolve(path, from.name), XML_LIMITS.charsMax);
  const root = readXml(text);
  if (isDmn(root) && root.attributes.get("namespace") === namespace) return { name: path, text, root };
  throw flawed(
    from.name,
    wanted.line,
    `${name} is not a DMN model with the namespace ${namespace}; correct the import`,
  );
}

/** Whether a location is neither an absolute path nor an address. */
function isRelative(name: string): boolean {
  return !/^(?:[/\\]|[a-z][\w+.-]*:)/i.test(name);
}

/** The version tags of decisions, by id. */
function tagsIn(root: XmlElement): ReadonlyMap<string, string> {
  const tags = new Map<string, string>();
  for (const { attributes, children } of root.children) {
    const extended = children.find(({ name }) => name === "extensionElements")?.children ?? [];
    const element = extended.find(({ name }) => name === "versionTag")?.attributes.get("value");
    const attribute = [...attributes].find(([name]) => name.endsWith(":versionTag"))?.[1];
    const tag = element ?? attribute;
    const id = attributes.get("id");
    if (tag !== undefined && id !== undefined) tags.set(id, tag);
  }
  return tags;
}
