import type { DecisionModel, DecisionModelElement, DecisionProblem, ElementKey } from "./model.ts";

/** What is wrong between the elements of a model: references to nothing, and circles. */
export function linkProblems(model: DecisionModel): readonly DecisionProblem[] {
  const missing = [...model.elements.values()].flatMap((element) =>
    linksOf(element)
      .filter((key) => !model.elements.has(key))
      .map((key) => problem(element, `there is no element ${key.slice(key.lastIndexOf("#") + 1)} that it needs`)),
  );
  return [...missing, ...circles(model)];
}

function problem({ id, line }: DecisionModelElement, text: string): DecisionProblem {
  return { element: id, line, text };
}

function linksOf(element: DecisionModelElement): readonly ElementKey[] {
  switch (element.kind) {
    case "input":
      return [];
    case "decision":
    case "knowledge":
      return element.needs.map(({ key }) => key);
    case "service":
      return [...element.outputs, ...element.inputDecisions, ...element.inputData].map(({ key }) => key);
  }
}

/** Decisions that need each other can't be made; knowledge models may call themselves. */
function circles(model: DecisionModel): readonly DecisionProblem[] {
  const found: DecisionProblem[] = [];
  const state = new Map<ElementKey, "open" | "done">();
  for (const start of model.elements.keys()) {
    const path: { readonly key: ElementKey; readonly rest: ElementKey[] }[] = [];
    const enter = (key: ElementKey): void => {
      const element = model.elements.get(key);
      if (element?.kind !== "decision") return;
      if (state.get(key) === "open")
        found.push(problem(element, "the decision needs itself, by way of others or at once"));
      if (state.has(key)) return;
      state.set(key, "open");
      path.push({ key, rest: [...linksOf(element)] });
    };
    enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.rest.pop();
      if (next !== undefined) enter(next);
      else {
        state.set(top.key, "done");
        path.pop();
      }
    }
  }
  return found;
}
