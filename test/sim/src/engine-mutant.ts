import type { Mutant } from "pawl-test-shared/mutants";

/** A bug in `packages/core/dist`: one guard disabled. */
export interface EngineMutant extends Mutant {
  /** The invariant or rule that the guard protects. */
  readonly breaks: string;
}
