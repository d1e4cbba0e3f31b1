import type { Parameter } from "./recipe.ts";

/** A public method, and how it is called. */
export interface Method {
  readonly args: readonly Parameter[];
  /** The object that it is called on, if that is not the one of the group: a call may end it. */
  readonly target?: string;
  /** Whether the call may wait for something that never comes. It must end when the engine is shut down. */
  readonly waits?: true;
  /** The method that ends what the call returned. */
  readonly close?: string;
}

/** A public method that is not called, and the reason. */
export interface Skipped {
  readonly skip: string;
}

/** The public methods of an object, or the functions that a module exports. */
export interface ApiGroup {
  readonly name: string;
  /** The object in the fuzzed world. */
  readonly target: string;
  readonly exports?: Readonly<Record<string, unknown>>;
  /** Whether the methods are called by workflow code. */
  readonly inWorkflow?: true;
  readonly methods: Readonly<Record<string, Method | Skipped>>;
}

/** The names of all methods that an object has, but those of every object. */
export function methodNames(object: object): readonly string[] {
  const names = new Set<string>();
  for (let level: unknown = object; isOwn(level); level = Object.getPrototypeOf(level)) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (name !== "constructor" && typeof property.value === "function") names.add(name);
  }
  return [...names].sort();
}

function isOwn(level: unknown): level is object {
  return typeof level === "object" && level !== null && level !== Object.prototype;
}

/** The functions and classes that a module exports. */
export function functionNames(exports: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(exports)
    .filter((name) => typeof exports[name] === "function")
    .sort();
}
