/** The text is decoded already: what it says of its encoding would only mislead. */
export function withoutEncoding(text: string): string {
  const start = text.startsWith("\uFEFF") ? text.slice(1) : text;
  return start.replace(/^<\?xml[^>]*\?>/, "");
}
