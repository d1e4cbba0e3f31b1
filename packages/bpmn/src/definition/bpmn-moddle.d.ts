/** The part of bpmn-moddle that is used; the package has no types for it. */
declare module "bpmn-moddle" {
  export interface Warning {
    readonly message: string;
    readonly property?: string;
    readonly value?: string;
    readonly element?: { readonly id?: string };
  }
  export interface ParseResult {
    readonly rootElement: unknown;
    readonly warnings: readonly Warning[];
  }
  export class BpmnModdle {
    fromXML(xml: string): Promise<ParseResult>;
    toXML(element: unknown, options?: { readonly format?: boolean }): Promise<{ readonly xml: string }>;
  }
}
