import { describe, expect, test } from "vitest";
import { isPublicAddress } from "./address.ts";
import { checkAddresses, checkHeaders, checkUrl, expandUrl } from "./http-rules.ts";

const code = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    return (error as { code: string }).code;
  }
  return "allowed";
};

/** URLs that must be rejected, in many spellings. */
const REJECTED = [
  ...[
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
  ],
  ...["http://0177.0.0.1/", "http://0177.1/", "http://017700000001/", "http://127.0.0.1./", "http://127.255.255.255/"],
  ...["http://0/", "http://0.0.0.0/", "http://0.1.2.3/", "http://00/", "http://0x0/"],
  ...["http://10.0.0.1/", "http://10.255.255.255/", "http://0xa000001/", "http://167772161/", "http://012.0.0.1/"],
  ...[
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://169.254.169.254/",
    "http://0xa9fea9fe/",
    "http://2852039166/",
  ],
  ...["http://169.254.43518/", "http://0251.0376.0251.0376/", "http://0xa9.0xfe.0xa9.0xfe/", "http://169.254.0.0/"],
  // Host agents and metadata services of clouds.
  ...["http://168.63.129.16/", "http://0xa83f8110/", "http://2822734096/", "http://0250.077.0201.020/"],
  ...["http://[::ffff:168.63.129.16]/", "http://[64:ff9b::a83f:8110]/", "http://[2002:a83f:8110::]/"],
  ...["http://192.0.0.192/", "http://100.100.100.200/", "http://169.254.170.2/", "http://169.254.169.253/"],
  ...["http://[fd00:ec2::254]/", "http://[fd00:ec2::23]/", "http://[fd20:ce::254]/", "http://[fd00:42::42]/"],
  ...["http://[fd00:c1::a9fe:a9fe]/", "http://[fe80::a9fe:a9fe]/"],
  ...["http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.0.1/", "http://192.168.1/", "http://3232235521/"],
  ...["http://192.0.0.1/", "http://192.0.2.1/", "http://192.88.99.1/", "http://198.18.0.1/", "http://198.19.255.255/"],
  ...[
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://239.255.255.255/",
    "http://240.0.0.1/",
  ],
  ...["http://255.255.255.255/", "http://0xffffffff/", "http://4294967295/"],
  ...["http://[::]/", "http://[::1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[0000::0001]/", "http://[::127.0.0.1]/"],
  ...[
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::FFFF:A9FE:A9FE]/",
  ],
  ...[
    "http://[::ffff:0:127.0.0.1]/",
    "http://[0:0:0:0:0:ffff:10.0.0.1]/",
    "http://[::ffff:8.8.8.8]/",
    "http://[::8.8.8.8]/",
  ],
  ...[
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::1]/",
    "http://[64:ff9b::8.8.8.8]/",
  ],
  ...["http://[2002:7f00:1::]/", "http://[2002:a9fe:a9fe::1]/", "http://[2001::1]/", "http://[2001:0:7f00:1::]/"],
  ...["http://[2001:db8::1]/", "http://[2001:10::1]/", "http://[2001:20::1]/", "http://[3fff::1]/"],
  ...["http://[fc00::1]/", "http://[fd00::1]/", "http://[fdff:ffff::1]/", "http://[fe80::1]/", "http://[febf::1]/"],
  ...[
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[ff0e::1]/",
    "http://[100::1]/",
    "http://[1::1]/",
    "http://[4000::1]/",
  ],
  ...["http://１２７.０.０.１/", "http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://１６９.２５４.１６９.２５４/"],
  ...[
    "http://user@8.8.8.8/",
    "http://user:pass@example.com/",
    "http://example.com@127.0.0.1/",
    "http://127.0.0.1:80@example.com/",
  ],
  ...[
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:70/",
    "data:text/plain,x",
    "javascript:1",
    "unix:/var/run/docker.sock",
  ],
  ...[
    "http://example.com:22/",
    "http://example.com:6379/",
    "https://example.com:8443/",
    "http://example.com:0/",
    "http://8.8.8.8:25/",
  ],
  ...[
    "http://example.com\\@127.0.0.1/",
    "http:\\\\127.0.0.1/",
    "http://exa mple.com/",
    "http://example.com/\r\nX: 1",
    " http://example.com/",
  ],
  ...[
    "http://example.com/\u0000",
    "http://exam\tple.com/",
    "//example.com/",
    "example.com",
    "",
    "http://",
    "http://[::1",
    "http://[fe80::1%25eth0]/",
  ],
  ...[
    "http://1.2.3.4.5/",
    "http://256.1.1.1/",
    "http://1.2.3.09/",
    "http://0x7f.0.0.0x1ff/",
    "HTTP://127.0.0.1/",
    "hTTps://LOCALHOST:1/",
  ],
];

describe("targets of requests", () => {
  test.each(REJECTED)("URL %s is rejected", (url) => {
    expect(code(() => checkUrl(url, {}))).toBe("HTTP_REFUSED");
  });

  test("at least 120 rejected URLs are tested", () => {
    expect(REJECTED.length).toBeGreaterThanOrEqual(120);
  });

  test.each([
    "http://example.com/",
    "https://example.com/a?b#c",
    "http://8.8.8.8/",
    "https://[2606:4700::1111]/",
    "http://172.32.0.1/",
    "http://EXAMPLE.com:80/",
  ])("URL %s is allowed", (url) => {
    expect(code(() => checkUrl(url, {}))).toBe("allowed");
  });

  test("all addresses of a host must be public", () => {
    const target = checkUrl("http://example.com/", {});
    expect(code(() => checkAddresses(target, ["8.8.8.8"]))).toBe("allowed");
    expect(code(() => checkAddresses(target, ["8.8.8.8", "127.0.0.1"]))).toBe("HTTP_REFUSED");
    expect(code(() => checkAddresses(target, ["8.8.8.8", "::1"]))).toBe("HTTP_REFUSED");
    expect(code(() => checkAddresses(target, ["168.63.129.16"]))).toBe("HTTP_REFUSED");
    expect(code(() => checkAddresses(target, ["nonsense"]))).toBe("HTTP_REFUSED");
    expect(code(() => checkAddresses(target, []))).toBe("HTTP_REFUSED");
  });

  test("allowedHosts excludes all other hosts", () => {
    const rules = { allowedHosts: ["api.example.com", "*.example.org"] };
    expect(code(() => checkUrl("http://api.example.com/", rules))).toBe("allowed");
    expect(code(() => checkUrl("http://a.b.example.org/", rules))).toBe("allowed");
    expect(code(() => checkUrl("http://example.org/", rules))).toBe("HTTP_REFUSED");
    expect(code(() => checkUrl("http://evilexample.org/", rules))).toBe("HTTP_REFUSED");
    expect(code(() => checkUrl("http://api.example.com.evil.net/", rules))).toBe("HTTP_REFUSED");
  });

  test("a trusted host is allowed only at its port", () => {
    const rules = { trustedHosts: ["127.0.0.1:8080"] };
    expect(code(() => checkUrl("http://127.0.0.1:8080/", rules))).toBe("allowed");
    expect(code(() => checkUrl("http://127.0.0.1:8081/", rules))).toBe("HTTP_REFUSED");
  });

  test.each([
    "",
    "1",
    "1.2.3",
    "1.2.3.4.5",
    "01.2.3.4",
    "1.2.3.256",
    "::1::",
    "1:2:3",
    ":::",
    "12345::",
    "fe80::1%eth0",
    "::ffff:1.2.3",
  ])("%j is not a public address", (text) => {
    expect(isPublicAddress(text)).toBe(false);
  });
});

describe("headers and URL templates", () => {
  const url = new URL("http://example.com/");
  test.each([
    { "x\r\ny": "1" },
    { x: "1\r\nHost: evil" },
    { x: "1\n" },
    { x: "\u0000" },
    { host: "evil" },
    { "Content-Length": "1" },
    { "Transfer-Encoding": "chunked" },
    { "": "1" },
    { "a b": "1" },
    { x: "ü\u0100" },
  ])("the header %j is rejected", (headers) => {
    expect(code(() => checkHeaders(url, headers as unknown as Record<string, string>))).toBe("HTTP_REFUSED");
  });

  test("a part of a URL template cannot change the structure of the URL", () => {
    expect(expandUrl("https://example.com/a/{id}?q={q}", { id: "../x?y#z", q: "a&b=c" })).toBe(
      "https://example.com/a/..%2Fx%3Fy%23z?q=a%26b%3Dc",
    );
    expect(code(() => expandUrl("https://{host}/", { host: "evil" }))).toBe("HTTP_REFUSED");
    expect(code(() => expandUrl("{url}", { url: "http://evil/" }))).toBe("HTTP_REFUSED");
    expect(code(() => expandUrl("https://example.com{x}", { x: ".evil.net" }))).toBe("HTTP_REFUSED");
    expect(code(() => expandUrl("https://example.com/{x}", { x: ".." }))).toBe("HTTP_REFUSED");
    expect(code(() => expandUrl("https://example.com/{x}", {}))).toBe("HTTP_REFUSED");
    expect(code(() => expandUrl("https://example.com/{constructor}", {}))).toBe("HTTP_REFUSED");
  });
});
