import { kinds, type OptionKind, optionTable, PawlError } from "pawl";
import { problemsOf } from "../definition/problem.ts";
import type { Pins } from "../model/pins.ts";
import { readModelFile } from "../runtime/model-files.ts";
import { DEPLOY_KINDS, type Definitions, type Deployed, type DeployOptions, type Prepared } from "./definitions.ts";
import { type ResolveFile, type ResourceFile, readFile } from "./read-resource.ts";
import type { DeployedResource, NewResource, Resources } from "./resources.ts";

export interface DeployFilesOptions extends DeployOptions {
  /** Returns the content of a file by its name, and of a file that another one imports. Default: reads it from disk. */
  readonly resolve?: ResolveFile;
}

/** What a deployment of files contains. */
export interface DeployedFiles {
  readonly processes: readonly Deployed[];
  readonly resources: readonly DeployedResource[];
}

export const DEPLOY_FILES_OPTIONS = optionTable<DeployFilesOptions>("deployFiles", {
  ...DEPLOY_KINDS,
  resolve: kinds.callback,
});
const FILE = kinds.options(
  optionTable<ResourceFile>("the file", { name: kinds.required(kinds.text), content: kinds.required(kinds.value) }),
);
export const FILES = kinds.list(kinds.either(kinds.text, FILE)) as OptionKind<never>;

interface Parts {
  readonly definitions: Definitions;
  readonly resources: Resources;
}

/** Reads and checks all files before the first one is deployed. Processes come last, because they may be bound to the others. */
export async function deployFiles(
  { definitions, resources }: Parts,
  given: readonly (string | ResourceFile)[],
  { resolve = readModelFile, ...options }: DeployFilesOptions,
): Promise<DeployedFiles> {
  const files: ResourceFile[] = [];
  for (const file of given)
    files.push(typeof file === "string" ? { name: file, content: await resolve(file, null) } : file);
  const prepared: Prepared[] = [];
  const found: NewResource[] = [];
  for (const file of files) {
    await naming(file.name, async () => {
      const read = await readFile(file, files, resolve);
      if (read.kind === "process") prepared.push(await definitions.prepare(read.source, options));
      else found.push(read.resource);
    });
  }
  definitions.checkDeployment(prepared, pinsOf(found, new Map()));
  const deployed: DeployedResource[] = [];
  for (const resource of found) deployed.push(await resources.deploy(resource));
  const versions = new Map(deployed.map(({ type, id, version }) => [`${type} ${id}`, version]));
  const processes = await definitions.deployAll(prepared, pinsOf(found, versions), options);
  return { processes, resources: deployed };
}

/** An error in a file names the file. */
async function naming(name: string, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    const named = new PawlError(error.code, `${name}: ${error.message}`, { cause: error });
    throw Object.assign(named, { problems: problemsOf(error) });
  }
}

function pinsOf(resources: readonly NewResource[], versions: ReadonlyMap<string, number>): Pins {
  const versionOf = ({ type, id }: NewResource): number => versions.get(`${type} ${id}`) ?? 0;
  const models = resources.filter(({ type }) => type === "decisions");
  const decisions = models.flatMap((each) =>
    Object.keys(each.decisions).map((name) => [name, { model: each.id, version: versionOf(each) }] as const),
  );
  const forms = resources.filter(({ type }) => type === "form").map((each) => [each.id, versionOf(each)] as const);
  return { decisions: Object.fromEntries(decisions), forms: Object.fromEntries(forms), processes: {} };
}
