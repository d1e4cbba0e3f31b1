/** A planted bug: one guard disabled by a textual edit of the built engine. `find` occurs once in the file. */
export interface Mutant {
  readonly name: string;
  /** Under `packages/core/dist`. */
  readonly file: string;
  /** However it is broken into lines there. */
  readonly find: string;
  readonly replace: string;
  /** What it breaks, by the words of the design. */
  readonly breaks: string;
}
