// Beeuni's plugin for OpenCode: offers the hosted tools and forwards each call to the daemon, and puts Beeuni's agents,
// models and permissions into OpenCode's configuration. It holds no tool code; all it knows stands in session.json
// beside it, which is read again whenever OpenCode sets a project up anew.
import { readFileSync } from "node:fs";

// OpenCode has read it by now and goes on to ask for it; nothing that it starts inherits it.
delete process.env.OPENCODE_SERVER_PASSWORD;

export const Beeuni = async () => {
  const session = JSON.parse(readFileSync(new URL("./session.json", import.meta.url), "utf8"));
  const hosted = new Map(session.tools.map((tool) => [tool.name, tool]));
  return {
    tool: Object.fromEntries(session.tools.map((tool) => [tool.name, definition(tool.name, tool, session)])),
    "tool.definition": async ({ toolID }, output) => {
      const tool = hosted.get(toolID);
      if (!tool) return;
      output.description = tool.description;
      // From `args` OpenCode would make a schema in which everything is required and `$defs` are gone.
      output.jsonSchema = tool.parameters;
    },
    config: async (config) => configure(config, session),
    "chat.params": async (_, output) => {
      // OpenCode's own numbers, which a model may refuse: how long an answer may be, how hard to think.
      output.maxOutputTokens = undefined;
      if (output.options) delete output.options.reasoningEffort;
    },
    "shell.env": async (_, output) => {
      // A command sees what the project's commands may see, and nothing of OpenCode's own surroundings.
      for (const name of Object.keys(process.env)) output.env[name] = undefined;
      Object.assign(output.env, session.env);
    },
  };
};

function definition(name, tool, session) {
  return {
    description: tool.description,
    args: {},
    execute: (args, context) => call(name, args, context, session),
  };
}

/** One call of a hosted tool. What it throws is what the model reads. */
async function call(name, args, context, session) {
  const { abort, agent, directory, sessionID, messageID, callID } = context;
  let status, text;
  try {
    const response = await fetch(`${session.url}/beeuni/tools/${encodeURIComponent(name)}`, {
      method: "POST",
      headers: { authorization: `Bearer ${session.key}`, "content-type": "application/json" },
      body: JSON.stringify({ args, agent, directory, call: { session: sessionID, message: messageID, id: callID } }),
      signal: abort,
      // The daemon has the deadline; Bun's own is five minutes.
      timeout: false,
      // A connection that the daemon has closed meanwhile would fail a call that never began.
      keepalive: false,
    });
    status = response.status;
    text = await response.text();
  } catch (error) {
    if (abort.aborted) throw error;
    throw new Error(`Beeuni's daemon could not be reached for ${name}: ${error?.message ?? error}`);
  }
  const answer = parsed(text);
  if (typeof answer?.error === "string") throw new Error(answer.error.trim() || "the tool failed without a message");
  if (status !== 200 || typeof answer?.output !== "string") {
    throw new Error(`Beeuni's daemon gave no result for ${name} (HTTP ${status})`);
  }
  if (answer.output.trim()) return answer.output;
  // Providers refuse an empty text; the transcript keeps that there was none.
  return { title: "", output: "(no output)", metadata: { empty: true } };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Puts what Beeuni owns into the configuration that OpenCode made of the project's folder. */
function configure(config, session) {
  Object.assign(config, session.config);
  // One refusal refuses all that wait in its session: the daemon decides whether the turn ends.
  config.experimental = { ...config.experimental, continue_loop_on_deny: true };
  config.skills = { ...config.skills, paths: [...session.skills, ...(config.skills?.paths ?? [])] };
  const own = rulesOf(config.permission);
  delete config.permission;
  // Each agent has its rules: what is said for all tools at once would be read a second time.
  delete config.tools;
  const agents = {};
  for (const [name, agent] of Object.entries(config.agent ?? {})) {
    // An agent of the folder alone: the daemon does not know it and refuses it every hosted tool.
    agents[name] = { ...agent, permission: foreign(agent.permission, own, session) };
  }
  for (const [name, { fallback, permission, ...agent }] of Object.entries(session.agents)) {
    if (fallback && name in agents) continue;
    agents[name] = permission ? { ...agent, permission: merged(permission, own) } : agent;
  }
  config.agent = agents;
}

/** A `permission` of OpenCode's as a list of [key, pattern, action]. */
function rulesOf(permission) {
  if (typeof permission === "string") return [["*", "*", permission]];
  return Object.entries(permission ?? {}).flatMap(([key, value]) =>
    typeof value === "string" ? [[key, "*", value]] : Object.entries(value ?? {}).map(([p, action]) => [key, p, action]),
  );
}

/**
 * An agent's rules in the order in which OpenCode reads them, where the last that matches wins: what holds where nobody
 * says anything, then the folder's own rules, then the agent's, then what is hidden from it.
 */
function merged({ base, keys, hidden }, own) {
  const rules = { "*": base };
  const groups = new Map(keys.map((group) => [group.key, { ...group, own: [] }]));
  for (const [key, pattern, action] of own) {
    if (key === "*") for (const group of groups.values()) group.own.push([pattern, action]);
    else if (groups.has(key)) groups.get(key).own.push([pattern, action]);
    // Tools of servers and plugins; an agent with a list of tools has only those of the list.
    else if (base === "allow") add(rules, key, pattern, action);
  }
  for (const [name, { written, before, own, after, fixed }] of groups) {
    const key = written ?? name;
    for (const [pattern, action] of [...before, ...(fixed ? [] : own), ...after]) add(rules, key, pattern, action);
    // Denied is not hidden: a last pattern that nothing matches keeps the tool in sight. A question asks nobody first,
    // so it has to be out of sight.
    const [last, action] = Object.entries(rules[key]).at(-1);
    if (last === "*" && action === "deny" && key !== "question") rules[key][" "] = "deny";
  }
  return hiding(rules, hidden);
}

function foreign(permission, own, session) {
  const rules = {};
  for (const [key, pattern, action] of [...own, ...rulesOf(permission)]) add(rules, key, pattern, action);
  return hiding(rules, [...session.tools.map((tool) => tool.name), ...session.never]);
}

/** Hides tools, as the last of the rules, and writes rules without patterns in their plain form. */
function hiding(rules, hidden) {
  for (const key of hidden) {
    delete rules[key];
    rules[key] = "deny";
  }
  // Of some keys OpenCode shows no other form in its own answers.
  const plain = ([key, value]) => [key, Object.keys(value).join() === "*" ? value["*"] : value];
  return Object.fromEntries(Object.entries(rules).map(plain));
}

/** Adds a rule as the last of its key. */
function add(rules, key, pattern, action) {
  if (typeof rules[key] === "string") rules[key] = { "*": rules[key] };
  rules[key] ??= {};
  delete rules[key][pattern];
  rules[key][pattern] = action;
}
