import { bytes, type DriverCase, listed, text } from "./driver-subject.ts";

const ALL = bytes();

export const keyCases: readonly DriverCase[] = [
  {
    name: "get returns the last value of a key, or null if the key is not set",
    async run({ driver }, expect) {
      await driver.set(bytes(1), text("one"));
      expect([...((await driver.get(bytes(1))) ?? [])]).toEqual([...text("one")]);
      expect(await driver.get(bytes(2))).toBe(null);
      await driver.set(bytes(1), text("two"));
      expect([...((await driver.get(bytes(1))) ?? [])]).toEqual([...text("two")]);
    },
  },
  {
    name: "an empty value is stored and listed",
    async run({ driver }, expect) {
      await driver.set(bytes(1), bytes());
      expect([...((await driver.get(bytes(1))) ?? [9])]).toEqual([]);
      expect(await listed(driver, ALL)).toEqual([[[1], []]]);
    },
  },
  {
    name: "delete removes a key, and does nothing if the key is missing",
    async run({ driver }, expect) {
      await driver.set(bytes(1), text("one"));
      await driver.delete(bytes(1));
      await driver.delete(bytes(2));
      expect(await driver.get(bytes(1))).toBe(null);
      expect(await listed(driver, ALL)).toEqual([]);
    },
  },
  {
    name: "keys are listed in the order of their bytes",
    async run({ driver }, expect) {
      const keys = [[0xff], [1, 0], [0x7f], [1], [0x80, 1], [0x80], [1, 0xff], [0x61], [2]];
      for (const key of keys) await driver.set(bytes(...key), bytes(0));
      const sorted = [[1], [1, 0], [1, 0xff], [2], [0x61], [0x7f], [0x80], [0x80, 1], [0xff]];
      expect((await listed(driver, ALL)).map(([key]) => key)).toEqual(sorted);
    },
  },
  {
    name: "list returns only keys that start with the bytes of the prefix",
    async run({ driver }, expect) {
      for (const key of [[1, 0xfe], [1, 0xff], [1, 0xff, 0], [1, 0xff, 0xff], [2], [1]]) {
        await driver.set(bytes(...key), bytes(0));
      }
      const keys = async (...prefix: number[]): Promise<unknown> =>
        (await listed(driver, bytes(...prefix))).map(([key]) => key);
      expect(await keys(1, 0xff)).toEqual([
        [1, 0xff],
        [1, 0xff, 0],
        [1, 0xff, 0xff],
      ]);
      expect(await keys(0xff)).toEqual([]);
      expect(await keys(2)).toEqual([[2]]);
    },
  },
  {
    name: "deletePrefix removes only keys that start with the bytes of the prefix",
    async run({ driver }, expect) {
      for (const key of [[1], [1, 2], [1, 2, 3], [1, 3], [2], [0xff, 0xff], [0xff]]) {
        await driver.set(bytes(...key), bytes(0));
      }
      await driver.deletePrefix(bytes(1, 2));
      await driver.deletePrefix(bytes(0xff));
      expect((await listed(driver, ALL)).map(([key]) => key)).toEqual([[1], [1, 3], [2]]);
      await driver.deletePrefix(ALL);
      expect(await listed(driver, ALL)).toEqual([]);
    },
  },
  {
    name: "a batch sets and removes keys in order",
    async run({ driver }, expect) {
      await driver.set(bytes(1), text("old"));
      await driver.set(bytes(2), text("old"));
      await driver.batch([
        { key: bytes(1), value: null },
        { key: bytes(2), value: text("a") },
        { key: bytes(3), value: text("a") },
        { key: bytes(3), value: text("b") },
      ]);
      expect(await listed(driver, ALL)).toEqual([
        [[2], [...text("a")]],
        [[3], [...text("b")]],
      ]);
      await driver.batch([]);
    },
  },
  {
    name: "a batch of 1,000 keys and a value of 1 MB are stored unchanged",
    async run({ driver }, expect) {
      const large = Uint8Array.from({ length: 1_000_000 }, (_, at) => (at * 7) % 256);
      const writes = Array.from({ length: 1_000 }, (_, n) => ({
        key: bytes(1, n >> 8, n % 256),
        value: bytes(n % 256),
      }));
      await driver.batch([...writes, { key: bytes(2), value: large }]);
      expect((await driver.list(bytes(1))).length).toBe(1_000);
      const back = await driver.get(bytes(2));
      expect(back !== null && back.length === large.length && back.every((byte, at) => byte === large[at])).toBe(true);
    },
  },
  {
    name: "stored bytes do not change when the caller modifies its arrays",
    async run({ driver }, expect) {
      const key = bytes(1, 2);
      const value = bytes(3, 4);
      await driver.batch([{ key, value }]);
      key[0] = 9;
      value[0] = 9;
      const got = await driver.get(bytes(1, 2));
      if (got !== null) got[0] = 8;
      expect(await listed(driver, ALL)).toEqual([
        [
          [1, 2],
          [3, 4],
        ],
      ]);
    },
  },
  {
    name: "a write in one namespace does not affect another namespace",
    async run({ driver, neighbour }, expect) {
      if (neighbour === undefined) return;
      await driver.set(bytes(1), text("mine"));
      await neighbour.set(bytes(1), text("its"));
      await neighbour.set(bytes(2), text("its"));
      await driver.deletePrefix(bytes(2));
      expect(await listed(driver, ALL)).toEqual([[[1], [...text("mine")]]]);
      await driver.deletePrefix(ALL);
      expect((await listed(neighbour, ALL)).length).toBe(2);
    },
  },
  {
    name: "a batch is readable by a process that starts later",
    async run({ driver, reopen }, expect) {
      await driver.batch([{ key: bytes(1), value: text("kept") }]);
      if (reopen === undefined) return;
      expect(await listed(await reopen(), ALL)).toEqual([[[1], [...text("kept")]]]);
    },
  },
];
