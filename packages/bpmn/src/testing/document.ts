/** A BPMN document with the process `p`. `beside` is placed next to the process. */
export function documentOf(inside: string, beside = ""): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xmlns:pawl="urn:pawl:bpmn" targetNamespace="urn:test">
${beside}
<process id="p" isExecutable="true">
${inside}
</process>
</definitions>`;
}

/** Sequence flows, one a line: `a -> b`, with a condition `a -[x > 1]-> b`, with an id `a -id-> b`. */
export function flows(text: string): string {
  return text
    .trim()
    .split("\n")
    .map((line, i) => {
      const match = /^\s*(\S+) -(?:\[(.*)\]-|(\S+)-)?> (\S+)\s*$/.exec(line);
      if (match === null) throw new Error(`no flow: ${line}`);
      const [, source, condition, id = `f${i + 1}-${match[1]}-${match[4]}`, target] = match;
      const inside = condition === undefined ? "" : `<conditionExpression>${escaped(condition)}</conditionExpression>`;
      return `<sequenceFlow id="${id}" sourceRef="${source}" targetRef="${target}">${inside}</sequenceFlow>`;
    })
    .join("\n");
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
}
