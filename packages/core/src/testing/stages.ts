import { memoryStore } from "../store/memory/memory-store.ts";
import { intercepted } from "./intercepted.ts";
import { Stage, type StageStore } from "./stage.ts";

/** A kind of store on which the engine's behaviour is tried. */
export interface StageKind {
  readonly name: string;
  /** `onEnd` is told how to end it; test runners have such a hook. */
  create(onEnd: (close: () => Promise<void>) => void): Promise<Stage>;
}

export const STAGES: readonly StageKind[] = [stageKind("memory", async () => memoryData())];

function stageKind(name: string, open: () => Promise<StageStore>): StageKind {
  return {
    name,
    async create(onEnd) {
      const stage = new Stage(await open());
      onEnd(() => stage.close());
      return stage;
    },
  };
}

/** All engines of a stage share the one store: that one of them closes it ends it for none of the others. */
function memoryData(): StageStore {
  const store = memoryStore();
  return {
    connect: () =>
      intercepted(store, async (call, proceed) => (call.method === "close" ? (undefined as never) : await proceed())),
  };
}
