// Tries one module of a project's OpenCode folder before OpenCode itself loads it, in a process of its own: a tool that
// does not load there makes every prompt fail. Started as `try.js MODULE RESULT`; writes JSON into RESULT.
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [module, result] = process.argv.slice(2);
// What OpenCode takes for a tool.
const isTool = (value) =>
  typeof value === "object" && value !== null && "args" in value && "description" in value && "execute" in value;

let found;
try {
  const exports = await import(pathToFileURL(module).href);
  found = { tools: Object.keys(exports).filter((name) => isTool(exports[name])), exports: Object.keys(exports) };
} catch (error) {
  found = { error: String(error?.message ?? error) };
}
writeFileSync(result, JSON.stringify({ ...found, files: Object.keys(require.cache) }));
process.exit(0);
