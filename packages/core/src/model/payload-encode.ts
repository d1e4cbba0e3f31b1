import { bytes as bytesOf } from "./bytes.ts";
import { toFailure } from "./failure.ts";
import { objectKind } from "./object-kind.ts";
import { isJsonNumber, type PayloadForm, TAG } from "./payload-form.ts";

/** The name of a tag. Written to stores: a name is never given another meaning. */
export type TagName = "undefined" | "number" | "bigint" | "date" | "map" | "set" | "bytes" | "error" | "object";

/** The JSON text of a value of the given form. */
export function encodeText(value: unknown, form: Extract<PayloadForm, "plain" | "tagged">): string {
  return JSON.stringify(form === "plain" ? value : tagged(value));
}

/** The value with every part that JSON does not have replaced by `{"~": [name, content]}`. */
function tagged(value: unknown): unknown {
  switch (typeof value) {
    case "number":
      return isJsonNumber(value) ? value : tag("number", Object.is(value, -0) ? "-0" : String(value));
    case "undefined":
      return tag("undefined", null);
    case "bigint":
      return tag("bigint", value.toString());
    case "object":
      return value === null ? null : taggedObject(value);
    default:
      return value;
  }
}

function taggedObject(value: object): unknown {
  switch (objectKind(value)) {
    case "record":
      return taggedRecord(value);
    case "list":
      return Array.from(value as readonly unknown[], tagged);
    case "date": {
      const at = Date.prototype.getTime.call(value);
      return tag("date", Number.isNaN(at) ? null : at);
    }
    case "map":
      return tag(
        "map",
        Array.from(value as ReadonlyMap<unknown, unknown>, ([key, item]) => [tagged(key), tagged(item)]),
      );
    case "set":
      return tag("set", Array.from(value as ReadonlySet<unknown>, tagged));
    case "bytes":
      return tag("bytes", bytesOf.toBase64(value as Uint8Array));
    case "error":
      return tag("error", tagged(toFailure(value)));
    case null:
      throw new TypeError("it changed while it was read");
  }
}

/** A record that has the tag's key itself is tagged, so that nobody takes it for a tag. */
function taggedRecord(value: object): unknown {
  // A spread makes own properties of all of them, `__proto__` too; assigning to an own property calls no setter.
  const record = { ...value } as Record<string, unknown>;
  for (const key of Object.keys(record)) record[key] = tagged(record[key]);
  return Object.hasOwn(record, TAG) ? tag("object", record) : record;
}

function tag(name: TagName, content: unknown): unknown {
  return { [TAG]: [name, content] };
}
