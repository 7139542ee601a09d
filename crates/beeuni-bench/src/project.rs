//! The projects that are measured.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Outcome;

/// A module of everyday size: reads an argument, computes, returns JSON.
pub(crate) const MODULE: &str = r"export default {
  description: 'Look up an order by id. Returns its status and carrier.',
  parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  async execute(args, context) {
    return { id: args.id, status: 'shipped', carrier: 'DHL', agent: context.agent };
  },
};
";

/// The baseline: the same module behind `Bun.serve`, in one process, with nothing around it.
const BARE: &str = r"import tool from './tools/t0.ts';
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { args, agent } = await request.json();
    return Response.json({ output: JSON.stringify(await tool.execute(args, { agent }), null, 2) });
  },
});
console.log(JSON.stringify({ url: server.url.href }));
";

pub(crate) const TOKEN: &str = "bench-token";

/// Makes a project with `tools` copies of the module, named `t0`, `t1` and so on.
pub(crate) fn make(folder: &Path, tools: usize) -> Outcome<()> {
    fs::create_dir_all(folder.join("tools"))?;
    fs::create_dir_all(folder.join("agents"))?;
    let mut manifest = String::from("beeuni_version: 2\nagents:\n  beeuni: { tools: all }\ntools:\n");
    for n in 0..tools {
        fs::write(folder.join(format!("tools/t{n}.ts")), MODULE)?;
        manifest.push_str(&format!("  t{n}: tools/t{n}.ts\n"));
    }
    fs::write(
        folder.join("agents/beeuni.md"),
        "---\ndescription: The agent of the bench\n---\nYou call tools.\n",
    )?;
    fs::write(folder.join("beeuni.yaml"), manifest)?;
    fs::write(folder.join("bare.js"), BARE)?;
    Ok(())
}

/// Adds a tool whose `execute` is `body`. The manifest of [`make`] ends with its tools.
pub(crate) fn add_tool(folder: &Path, name: &str, body: &str) -> Outcome<()> {
    let text = format!(
        "export default {{ description: 'd', parameters: {{ type: 'object' }}, async execute() {{ {body} }} }}\n"
    );
    fs::write(folder.join(format!("tools/{name}.ts")), text)?;
    let manifest = fs::read_to_string(folder.join("beeuni.yaml"))?;
    fs::write(
        folder.join("beeuni.yaml"),
        format!("{manifest}  {name}: tools/{name}.ts\n"),
    )?;
    Ok(())
}

/// A project whose root file imports 199 others, each with an agent of its own.
pub(crate) fn make_large(folder: &Path, files: usize) -> Outcome<()> {
    make(folder, 1)?;
    fs::create_dir_all(folder.join("team"))?;
    for n in 1..files {
        fs::write(
            folder.join(format!("team/part{n}.yaml")),
            format!("agents:\n  agent{n}:\n    file: agents/beeuni.md\n    tools: [t0, read, grep]\n"),
        )?;
    }
    let manifest = fs::read_to_string(folder.join("beeuni.yaml"))?;
    fs::write(
        folder.join("beeuni.yaml"),
        format!("{manifest}default_agent: beeuni\nimports: [team/]\n"),
    )?;
    Ok(())
}

/// A folder for one run.
pub(crate) fn scratch() -> Outcome<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::Builder::new().prefix("beeuni-bench-").tempdir()?;
    let project = folder.path().join("project");
    Ok((folder, project))
}
