export { type Crashable, crashable } from "./crashable.ts";
export type { DriverFactory, DriverSubject } from "./driver-contract/driver-subject.ts";
export { driverContract } from "./driver-contract/index.ts";
export type { ClientAction, ClientScript } from "./explore/client-actions.ts";
export { type EffectLog, type EffectOptions, type Effects, effectLog } from "./explore/effects.ts";
export type { ExploreReport } from "./explore/exploration.ts";
export { ExploreError, explore } from "./explore/explore.ts";
export type { ExploreOptions } from "./explore/explore-options.ts";
export type { Finding, FindingKind } from "./explore/finding.ts";
export type {
  BodyFault,
  CallFault,
  Fault,
  LastingFault,
  Scenario,
  Schedule,
} from "./explore/schedule.ts";
export { type Intercept, intercepted, type StoreCall } from "./intercepted.ts";
export { type ReplayedJournal, replayJournal } from "./replay-journal.ts";
export type { StepStub, StepStubs } from "./step-stubs.ts";
export type { ContractSubject, Expect, Harness, StoreFactory } from "./store-contract/harness.ts";
export { storeContract } from "./store-contract/index.ts";
export { type TestEngine, type TestEngineOptions, testEngine } from "./test-engine.ts";
export { VirtualClock, type VirtualWorld, virtualClock, virtualWorld } from "./virtual-world.ts";
