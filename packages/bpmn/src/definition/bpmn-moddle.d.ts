/** The part of bpmn-moddle that is used; the package has no types for it. */
declare module "bpmn-moddle" {
  export class BpmnModdle {
    fromXML(xml: string): Promise<{
      readonly rootElement: unknown;
      readonly warnings: readonly {
        readonly message: string;
        readonly property?: string;
        readonly value?: string;
        readonly element?: { readonly id?: string };
      }[];
    }>;
    toXML(element: unknown, options?: { readonly format?: boolean }): Promise<{ readonly xml: string }>;
  }
}
