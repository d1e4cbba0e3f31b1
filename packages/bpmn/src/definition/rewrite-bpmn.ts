import { BpmnModdle } from "bpmn-moddle";
import { decodeXml } from "../xml/decode-xml.ts";
import { readXml } from "../xml/read-xml.ts";
import { XML_LIMITS } from "../xml/xml-element.ts";
import { readable } from "./document-text.ts";

/**
 * Reads a BPMN 2.0 document, diagrams and extensions with it, and writes what was read as a document again: in UTF-8, laid out
 * evenly, without what says no more than the standard's defaults. Documents that are not well-formed are refused as `readBpmn`
 * does.
 */
export async function rewriteBpmn(xml: string | Uint8Array): Promise<string> {
  const text = decodeXml(xml, XML_LIMITS.charsMax);
  const tree = readXml(text);
  const moddle = new BpmnModdle();
  const { rootElement } = await moddle.fromXML(readable(text, tree));
  const written = await moddle.toXML(rootElement, { format: true });
  return written.xml.replace(/<!\[CDATA\[.*?\]\]>|\r/gs, (part) => (part === "\r" ? "&#13;" : part));
}
