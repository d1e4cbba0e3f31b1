import { expect, test } from "vitest";
import { WorkList } from "./work-list.ts";

const list = (): WorkList => new WorkList((index) => ({ index, actions: [] }));

test("a scenario of a process that is gone goes to the next who asks", () => {
  const work = list();
  expect(work.next("a")?.index).toBe(0);
  expect(work.next("b")?.index).toBe(1);
  work.gone("a");
  expect(work.next("b")?.index).toBe(0);
  work.done("b", 0);
  work.done("b", 1);
  expect(work.left).toBe(0);
});

test("a closed list begins nothing but what is added, and hands out what was left behind", () => {
  const work = list();
  work.next("a");
  work.close();
  expect(work.next("b")).toBeNull();
  work.gone("a");
  expect(work.next("b")?.index).toBe(0);
  work.done("b", 0);
  work.add((index) => ({ index, actions: [] }));
  expect(work.next("b")?.index).toBe(1);
});

test("a process that is gone can't be done with what another drives", () => {
  const work = list();
  work.next("a");
  work.gone("a");
  work.next("b");
  work.done("a", 0);
  expect(work.left).toBe(1);
});
