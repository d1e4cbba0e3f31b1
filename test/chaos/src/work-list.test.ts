import { expect, test } from "vitest";
import { WorkList } from "./work-list.ts";

const list = (): WorkList => new WorkList((index) => ({ index, actions: [] }));

test("a scenario of an exited process goes to the next process", () => {
  const work = list();
  expect(work.next("a")?.index).toBe(0);
  expect(work.next("b")?.index).toBe(1);
  work.processExited("a");
  expect(work.next("b")?.index).toBe(0);
  work.done("b", 0);
  work.done("b", 1);
  expect(work.left).toBe(0);
});

test("a closed list starts only added scenarios and those of exited processes", () => {
  const work = list();
  work.next("a");
  work.close();
  expect(work.next("b")).toBeNull();
  work.processExited("a");
  expect(work.next("b")?.index).toBe(0);
  work.done("b", 0);
  work.add((index) => ({ index, actions: [] }));
  expect(work.next("b")?.index).toBe(1);
});

test("an exited process cannot complete a scenario that another process drives", () => {
  const work = list();
  work.next("a");
  work.processExited("a");
  work.next("b");
  work.done("a", 0);
  expect(work.left).toBe(1);
});
