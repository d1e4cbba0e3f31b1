interface Waiting<Question, Answer> {
  readonly question: Question;
  readonly settle: (answer: Answer | Promise<Answer>) => void;
  readonly fail: (error: unknown) => void;
}

/** Questions that are asked at once, as of all runs of a claim, are put to the database together: few statements instead of many. */
export class Gathering<Question, Answer> {
  readonly #max: number;
  readonly #answer: (questions: readonly Question[]) => Promise<readonly (Answer | Promise<Answer>)[]>;
  #waiting: Waiting<Question, Answer>[] = [];

  /** `answer` gets at most so many at a time, and answers each at its place. */
  constructor(max: number, answer: (questions: readonly Question[]) => Promise<readonly (Answer | Promise<Answer>)[]>) {
    this.#max = max;
    this.#answer = answer;
  }

  ask(question: Question): Promise<Answer> {
    return new Promise((settle, fail) => {
      this.#waiting.push({ question, settle, fail });
      if (this.#waiting.length === 1) void Promise.resolve().then(() => this.#askAll());
    });
  }

  #askAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let first = 0; first < waiting.length; first += this.#max) {
      void this.#put(waiting.slice(first, first + this.#max));
    }
  }

  async #put(waiting: readonly Waiting<Question, Answer>[]): Promise<void> {
    try {
      const answers = await this.#answer(waiting.map(({ question }) => question));
      for (const [index, answer] of answers.entries()) waiting[index]?.settle(answer);
    } catch (error) {
      for (const { fail } of waiting) fail(error);
    }
  }
}
