// The client of the TypeScript SDK: calls our server over stdin and stdout, and over HTTP, and prints what it got.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, program, url, token] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(modules, "@modelcontextprotocol/sdk/dist/esm/client", path)).href);
const { Client } = await load("index.js");
const { StdioClientTransport } = await load("stdio.js");
const { StreamableHTTPClientTransport } = await load("streamableHttp.js");

const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const transports = [
  new StdioClientTransport({ command: program, args: ["mcp"] }),
  new StreamableHTTPClientTransport(new URL(url), { requestInit }),
];
const found = [];
for (const transport of transports) {
  const client = new Client({ name: "typescript", version: "1" });
  await client.connect(transport);
  const { tools } = await client.listTools(); // so that results are checked against the output schemas
  const made = await client.callTool({ name: "create", arguments: { title: "T", summary: "S" } });
  const refused = await client.callTool({ name: "recall", arguments: { refs: ["file:nowhere"] } });
  const wrong = await client.callTool({ name: "search", arguments: { query: 5 } });
  let steps = 0;
  const onprogress = () => { steps += 1; };
  const verified = await client.callTool({ name: "verify", arguments: {} }, undefined, { onprogress });
  found.push({ tools: tools.length, made, refused, wrong, verified, steps });
  await client.close();
}
console.log(JSON.stringify(found));
