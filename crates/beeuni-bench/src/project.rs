//! The projects that are measured, and the servers that serve them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{Outcome, Programs};

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

/// A running server; it ends with this value.
pub(crate) struct Server {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn bare(programs: &Programs, folder: &Path) -> Outcome<Self> {
        let mut command = Command::new(&programs.bun);
        command.arg("bare.js").current_dir(folder);
        Self::start(command)
    }

    pub(crate) fn daemon(programs: &Programs, folder: &Path, state: &Path) -> Outcome<Self> {
        let mut command = Command::new(&programs.beeuni);
        command
            .args(["daemon", "--harness", "none", "--project"])
            .arg(folder)
            .arg("--state")
            .arg(state);
        command
            .env("BEEUNI_TOKEN", TOKEN)
            .env("BEEUNI_BUN", &programs.bun)
            .env("BEEUNI_LOG", "error");
        Self::start(command)
    }

    fn start(mut command: Command) -> Outcome<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let out = child.stdout.take().ok_or("no standard output")?;
        BufReader::new(out).read_line(&mut line)?;
        let ready: serde_json::Value =
            serde_json::from_str(&line).map_err(|error| format!("not ready: {line:?}: {error}"))?;
        let url = ready["url"].as_str().ok_or("no url in the ready line")?;
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Ok(Self { child, address })
    }

    /// Memory of the process itself that is in RAM, in bytes.
    pub(crate) fn resident(&self) -> Outcome<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .ok_or("no VmRSS")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
        Ok(kib * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGKILL: the daemon's guards must cope with that too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder for one run.
pub(crate) fn scratch() -> Outcome<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::Builder::new().prefix("beeuni-bench-").tempdir()?;
    let project = folder.path().join("project");
    Ok((folder, project))
}
