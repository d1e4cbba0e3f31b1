import { BpmnError } from "@pawl/bpmn";
import type { PublishedModel } from "./published.ts";

/** Models as Camunda 7, Camunda 8 and plain modelers save them. */
export const PUBLISHED: readonly PublishedModel[] = [
  {
    name: "invoice",
    files: ["camunda7-invoice.bpmn", "invoice-assign.dmn"],
    process: "invoice",
    variables: { amount: 300, creditor: "Acme" },
    handlers: { mailer: () => undefined, "org.example.ArchiveInvoice": () => ({ archived: true }) },
    answers: { approve: [{ approved: false }, { approved: true, note: "fine" }], review: [{ amount: 200 }] },
    ignored: ["invoice camunda:historyTimeToLive", "StartEvent_1 camunda:initiator"],
    output: { amount: 200, creditor: "Acme", approvers: "management", approved: true, note: "fine", archived: true },
  },
  {
    name: "stock connector",
    files: ["camunda7-connector.bpmn"],
    process: "stock",
    variables: { article: 7, count: 2 },
    handlers: {
      "http-connector": ({ element, variables }) => {
        if (element.properties.method !== "POST" || variables.sku !== "item-7") throw new Error("wrong request");
        return { response: {}, statusCode: 200 };
      },
    },
    ignored: ["stock camunda:historyTimeToLive"],
    output: { article: 7, count: 2, ok: true, reserved: true },
  },
  {
    name: "delivery that is lost",
    files: ["camunda7-delivery.bpmn"],
    process: "delivery",
    handlers: {
      "org.example.Audit": () => undefined,
      "org.example.Remind": () => undefined,
      ship: () => {
        throw new BpmnError("LOST", "fell off the truck");
      },
    },
    answers: { pack: [{ boxes: 3 }], refund: [{ refunded: true }] },
    ignored: ["delivery camunda:historyTimeToLive"],
    output: { boxes: 3, code: "LOST", reason: "fell off the truck", refunded: true },
  },
  {
    name: "reviews until two are done",
    files: ["camunda7-reviews.bpmn"],
    process: "reviews",
    variables: { reviewers: ["ann", "bob", "cid"] },
    ignored: ["reviews camunda:historyTimeToLive"],
    output: { reviewers: ["ann", "bob", "cid"], last: "bob" },
  },
  {
    name: "booking that is not paid",
    files: ["camunda7-booking.bpmn"],
    process: "booking",
    handlers: {
      hotel: () => ({ room: 12 }),
      flight: () => ({ seat: "4A" }),
      cancelHotel: () => ({ room: null }),
      cancelFlight: () => ({ seat: null }),
      apologize: () => ({ apologized: true }),
    },
    answers: { pay: [{ paid: false }] },
    ignored: ["booking camunda:historyTimeToLive"],
    output: { room: null, seat: null, paid: false, apologized: true },
  },
  {
    name: "claim with an escalation of a called process",
    files: ["camunda7-claim.bpmn"],
    process: "claim",
    variables: { damage: 500, secret: 1 },
    answers: { answer: [{ answered: true }] },
    ignored: ["claim camunda:historyTimeToLive", "assessment camunda:historyTimeToLive"],
    output: { damage: 500, secret: 1, rating: "high", level: "ASK", answered: true },
  },
  {
    name: "signup with a reminder",
    files: ["camunda7-signup.bpmn", "welcome.form"],
    process: "signup",
    variables: { name: "Ann" },
    handlers: { mailer: () => ({ sent: true }) },
    arrivals: [
      { kind: "message", name: "reminded" },
      { kind: "message", name: "mail confirmed", variables: { mail: "ann@example.com" } },
    ],
    answers: { welcome: [{ called: true }] },
    ignored: ["signup camunda:historyTimeToLive"],
    output: { name: "Ann", sent: true, mail: "ann@example.com", called: true, size: "s" },
  },
  {
    name: "order that is confirmed",
    files: ["camunda8-order.bpmn"],
    process: "order",
    variables: { orderId: "o-1", total: 250 },
    handlers: {
      payment: ({ variables, element }) => ({ receipt: `${variables.cents} ${element.properties.currency}` }),
    },
    arrivals: [{ kind: "message", name: "order confirmed", variables: { confirmedBy: "ann" } }],
    output: { orderId: "o-1", total: 250, receipt: "25000 EUR", confirmedBy: "ann" },
  },
  {
    name: "leave with a form",
    files: ["camunda8-leave.bpmn"],
    process: "leave",
    variables: { team: "sales", days: 25 },
    handlers: { notify: () => undefined },
    answers: { decide: [{ granted: true, taken: 5 }] },
    output: { team: "sales", days: 25, granted: true, taken: 5, rest: 20 },
  },
  {
    name: "offers with decisions and a form of the deployment",
    files: ["camunda8-offers.bpmn", "offer-price.dmn", "offer.form"],
    process: "offers",
    variables: { items: ["pen", "desk", "pen"] },
    answers: { send: [{ sentTo: "ann@example.com" }] },
    output: { items: ["pen", "desk", "pen"], prices: [6, 30, 6], sentTo: "ann@example.com" },
  },
  {
    name: "onboarding whose check fails",
    files: ["camunda8-onboarding.bpmn"],
    process: "onboarding",
    variables: { person: "eve" },
    handlers: { query: ({ variables }) => ({ score: variables.who === "eve" ? null : 1 }) },
    answers: { manual: [{ score: 9 }] },
    output: { person: "eve", score: 9 },
  },
  {
    name: "ticket that nobody answers",
    files: ["camunda8-ticket.bpmn"],
    process: "ticket",
    variables: { id: "t-1", minutes: 3, nudges: 0 },
    handlers: { nudge: ({ variables }) => ({ nudges: Number(variables.nudges) + 1 }) },
    output: { id: "t-1", minutes: 3, nudges: 2 },
  },
  {
    name: "outage that ends by a signal",
    files: ["camunda8-incident.bpmn"],
    process: "outage",
    handlers: { page: () => ({ paged: true }) },
    arrivals: [{ kind: "signal", name: "all clear", variables: { clear: true } }],
    output: { paged: true, clear: true },
  },
  {
    name: "enrolment with inclusive gateways",
    files: ["plain-enrolment.bpmn"],
    process: "enrolment",
    answers: { choose: [{ wantsLab: true, wantsSports: true, course: "physics" }] },
    output: { course: "physics", wantsLab: true, wantsSports: true },
  },
  {
    name: "assembly with a loop, a condition and an ad-hoc sub-process",
    files: ["plain-assembly.bpmn"],
    process: "assembly",
    variables: { holes: 0, parts: 0 },
    tasks: { serviceTask: ({ variables }) => ({ holes: Number(variables.holes) + 1 }) },
    answers: { count: [{ parts: 2 }], label: [{ labelled: true }] },
    output: { holes: 3, parts: 2, labelled: true },
  },
];

/** The processes of MIWG, whose tasks do nothing. A.2.1 has a condition in XPath, which is refused. */
export const OF_MIWG: readonly PublishedModel[] = (
  [
    ["A.1.0", "WFP-6-"],
    ["A.2.0", "WFP-6-"],
    ["A.3.0", "WFP-6-"],
    ["A.4.0", "WFP-6-1"],
    ["A.4.0", "WFP-6-2"],
    ["A.4.1", "sid-34746A54-1D7D-46CA-B219-0C4CEAE51170"],
    ["A.4.1", "sid-54D696FD-DEDC-45F3-99DB-1404DA433FC4"],
  ] as const
).map(([name, process]) => ({ name: `MIWG ${name} ${process}`, files: [`miwg/${name}.bpmn`], process, output: {} }));
