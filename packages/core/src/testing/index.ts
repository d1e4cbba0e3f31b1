export { type Crashable, crashable } from "./crashable.ts";
export type { DriverFactory, DriverSubject } from "./driver-contract/driver-subject.ts";
export { driverContract } from "./driver-contract/index.ts";
export { type Intercept, intercepted, type StoreCall } from "./intercepted.ts";
export type { StandIn, StandIns } from "./stand-ins.ts";
export type { ContractSubject, Expect, Harness, StoreFactory } from "./store-contract/harness.ts";
export { storeContract } from "./store-contract/index.ts";
export { type TestEngine, type TestEngineOptions, testEngine } from "./test-engine.ts";
export { VirtualClock, type VirtualWorld, virtualClock, virtualWorld } from "./virtual-world.ts";
