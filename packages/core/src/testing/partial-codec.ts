import type { CodecHook } from "../model/payload.ts";

/** Values that contain it are encoded with a second key. */
export const SECRET = "secret";

/** A codec of two keys. Without the second key it opens a store, but cannot read values that contain SECRET. */
export function partialCodec({ hasSecondKey }: { readonly hasSecondKey: boolean }): CodecHook {
  return {
    encode: (text) => `${text.includes(SECRET) ? "k2" : "k1"}:${Buffer.from(text).toString("base64")}`,
    decode: (text) => {
      if (text.startsWith("k2:") && !hasSecondKey) throw new Error("key k2 not found");
      return Buffer.from(text.slice(3), "base64").toString();
    },
  };
}

/** A codec that reads only what the same key has encoded. */
export function keyedCodec(key: string): CodecHook {
  return {
    encode: (text) => `${key}:${Buffer.from(text).toString("base64")}`,
    decode: (text) => {
      if (!text.startsWith(`${key}:`)) throw new Error("wrong key");
      return Buffer.from(text.slice(key.length + 1), "base64").toString();
    },
  };
}
