// What `@opencode-ai/plugin` is to the tools in a project's own OpenCode folder when the project has not installed that
// package: `tool` gives back what it gets, and `tool.schema` is zod, from the project or from `beeuni setup`.
export const tool = (definition) => definition;
export default tool;

let zod;
try {
  const module = await import("zod");
  zod = module.z ?? module.default ?? module;
} catch {
  zod = undefined;
}

Object.defineProperty(tool, "schema", {
  get() {
    if (zod) return zod;
    throw new Error(
      "Cannot find package 'zod', which `tool.schema` is: run `beeuni setup`, or `npm install zod` in the project, or write `args` as JSON Schemas",
    );
  },
});
