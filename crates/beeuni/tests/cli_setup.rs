//! `beeuni setup` and `beeuni doctor`, on machines that have and that lack things.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{MANIFEST, Ran, Shell};

/// A machine whose only programs are these scripts (and the few that scripts need).
struct Machine {
    shell: Shell,
}

impl Machine {
    fn new(manifest: &str) -> Self {
        let shell = Shell::with_manifest(manifest);
        fs::create_dir(shell.root().join("bin")).unwrap();
        let machine = Self { shell };
        for program in ["sh", "mkdir", "chmod", "cat", "dirname"] {
            let path = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(program));
            let path = path.iter().find(|path| path.exists()).unwrap();
            std::os::unix::fs::symlink(path, machine.shell.root().join("bin").join(program)).unwrap();
        }
        machine
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.shell.root().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// An `npm` that lays out what the real one does, with a Bun that says it is `version`.
    fn npm(&self, version: &str) {
        self.npm_with(version, "1.18.33");
    }

    /// The same, with an OpenCode that says it is `opencode`.
    fn npm_with(&self, bun: &str, opencode: &str) {
        self.program(
            "npm",
            &format!(
                "echo \"$@\" >> \"$HOME/npm-calls\"
prefix=
for arg; do
  [ \"$before\" = --prefix ] && prefix=\"$arg\"
  before=\"$arg\"
done
says() {{
  mkdir -p \"$prefix/node_modules/$1/bin\"
  printf '#!/bin/sh\\necho %s\\n' \"$3\" > \"$prefix/node_modules/$1/bin/$2\"
  chmod 755 \"$prefix/node_modules/$1/bin/$2\"
}}
for arg; do
  package=\"${{arg%@*}}\"
  case \"$arg\" in
    @oven/*) says \"$package\" bun {bun} ;;
    opencode-linux-*) says \"$package\" opencode {opencode} ;;
    @vscode/ripgrep-*) says \"$package\" rg 'ripgrep 15.0.0' ;;
    zod@*) mkdir -p \"$prefix/node_modules/zod\"; echo '{{\"version\":\"'\"${{arg#zod@}}\"'\"}}' > \"$prefix/node_modules/zod/package.json\" ;;
  esac
done"
            ),
        );
    }

    fn npm_calls(&self) -> String {
        fs::read_to_string(self.shell.root().join("home/npm-calls")).unwrap_or_default()
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.shell.command(args);
        self.shell.ran(command.env("PATH", self.shell.root().join("bin")))
    }

    /// Where `setup` puts Bun below a folder.
    fn bun_in(&self, folder: &str) -> Option<PathBuf> {
        self.program_in(folder, "@oven", "bun-linux", "bin/bun")
    }

    fn opencode(&self) -> Option<PathBuf> {
        self.program_in(MANAGED, "", "opencode-linux", "bin/opencode")
    }

    fn ripgrep(&self) -> Option<PathBuf> {
        self.program_in(MANAGED, "@vscode", "ripgrep-linux", "bin/rg")
    }

    fn program_in(&self, folder: &str, scope: &str, package: &str, file: &str) -> Option<PathBuf> {
        let packages = self.shell.root().join(folder).join("node_modules").join(scope);
        let mut packages = fs::read_dir(packages).ok()?.map(|entry| entry.unwrap().path());
        let named = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(package);
        Some(packages.find(named)?.join(file)).filter(|program| program.is_file())
    }

    fn bun(&self) -> Option<PathBuf> {
        self.bun_in(MANAGED)
    }
}

const MANAGED: &str = "home/.local/share/beeuni/runtime";

/// Output with the names of this machine's packages replaced.
fn portable(ran: &Ran) -> String {
    let mut text = ran.to_string();
    for start in ["@oven/bun-", "node_modules/opencode-", "@vscode/ripgrep-"] {
        if let Some(at) = text.find(start) {
            let name = text[at..].split('/').nth(1).unwrap().to_owned();
            text = text.replace(&name, "[PACKAGE]");
        }
    }
    text
}

#[test]
fn setup_installs_the_pinned_versions_into_its_own_folder() {
    let machine = Machine::new(MANIFEST);
    machine.npm("1.4.5");
    insta::assert_snapshot!(portable(&machine.run(&["setup"])), @"
    exit 0
    ----- stdout
      ✓  Installed Bun 1.4.5: [DIR]/home/.local/share/beeuni/runtime/node_modules/@oven/[PACKAGE]/bin/bun
      ✓  Installed OpenCode 1.18.33: [DIR]/home/.local/share/beeuni/runtime/node_modules/[PACKAGE]/bin/opencode
      ✓  Installed ripgrep 15.0.0: [DIR]/home/.local/share/beeuni/runtime/node_modules/@vscode/[PACKAGE]/bin/rg
    bubblewrap and git are not needed to run tools: `beeuni doctor` checks them.
    ----- stderr
    Installing Bun 1.4.5 with npm …
    Installing OpenCode, ripgrep, zod with npm …
    ");
    assert!(machine.bun().is_some() && machine.opencode().is_some() && machine.ripgrep().is_some());
    assert!(
        machine
            .shell
            .root()
            .join(MANAGED)
            .join("node_modules/zod/package.json")
            .is_file()
    );
    let calls = machine.npm_calls();
    assert!(
        calls.contains("--ignore-scripts") && calls.contains("@oven/bun-") && calls.contains("@1.4.5"),
        "{calls}"
    );
    assert!(
        calls.contains("@1.18.33 @vscode/ripgrep-linux-") && calls.contains("@1.18.0 zod@4.6.7"),
        "{calls}"
    );
    let left: Vec<String> = fs::read_dir(machine.shell.root().join(MANAGED))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left, ["node_modules"], "the staging folder is gone");
}

#[test]
fn a_second_setup_does_nothing() {
    let machine = Machine::new(MANIFEST);
    machine.npm("1.4.5");
    assert_eq!(machine.run(&["setup"]).code, 0);
    insta::assert_snapshot!(portable(&machine.run(&["setup"])), @"
    exit 0
    ----- stdout
      ✓  Bun 1.4.5 is there: [DIR]/home/.local/share/beeuni/runtime/node_modules/@oven/[PACKAGE]/bin/bun
      ✓  OpenCode 1.18.33 is there: [DIR]/home/.local/share/beeuni/runtime/node_modules/[PACKAGE]/bin/opencode
      ✓  ripgrep 15.0.0 is there: [DIR]/home/.local/share/beeuni/runtime/node_modules/@vscode/[PACKAGE]/bin/rg
    bubblewrap and git are not needed to run tools: `beeuni doctor` checks them.
    ");
    assert_eq!(machine.npm_calls().lines().count(), 2);
    assert_eq!(machine.run(&["setup", "--force"]).code, 0);
    assert_eq!(machine.npm_calls().lines().count(), 4);
}

#[test]
fn setup_replaces_another_version() {
    let machine = Machine::new(MANIFEST);
    machine.npm("1.4.5");
    assert_eq!(machine.run(&["setup"]).code, 0);
    let bun = machine.bun().unwrap();
    fs::write(&bun, "#!/bin/sh\necho 1.2.3\n").unwrap();
    assert_eq!(machine.run(&["setup"]).code, 0);
    assert!(fs::read_to_string(&bun).unwrap().contains("1.4.5"));
}

#[test]
fn setup_installs_what_is_missing_or_another_version_of_the_harness() {
    let machine = Machine::new(MANIFEST);
    machine.npm("1.4.5");
    assert_eq!(machine.run(&["setup"]).code, 0);
    fs::write(machine.opencode().unwrap(), "#!/bin/sh\necho 1.0.0\n").unwrap();
    fs::remove_dir_all(machine.shell.root().join(MANAGED).join("node_modules/zod")).unwrap();
    let ran = machine.run(&["setup"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("Installing OpenCode, zod with npm"), "{ran}");
    assert!(
        ran.stdout.contains("Installed OpenCode 1.18.33") && ran.stdout.contains("ripgrep 15.0.0 is there"),
        "{ran}"
    );
    assert!(
        fs::read_to_string(machine.opencode().unwrap())
            .unwrap()
            .contains("1.18.33")
    );
    // Asking for its version leaves nothing in the user's home.
    assert!(!machine.shell.root().join("home/.local/share/opencode").exists());
}

#[test]
fn setup_can_leave_the_harness_out() {
    let machine = Machine::new(MANIFEST);
    machine.npm("1.4.5");
    let ran = machine.run(&["setup", "--without-opencode"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(machine.bun().is_some() && machine.opencode().is_none() && machine.ripgrep().is_none());
    assert_eq!(machine.npm_calls().lines().count(), 1);
}

#[test]
fn setup_that_cannot_have_the_harness_keeps_bun_and_says_so() {
    let machine = Machine::new(MANIFEST);
    machine.npm_with("1.4.5", "9.9.9");
    let ran = machine.run(&["setup"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(
        ran.stderr.contains("npm installed OpenCode 9.9.9 instead of 1.18.33"),
        "{ran}"
    );
    assert!(machine.bun().is_some() && machine.opencode().is_none() && machine.ripgrep().is_none());
}

#[test]
fn setup_without_npm_says_what_to_install() {
    insta::assert_snapshot!(Machine::new(MANIFEST).run(&["setup"]), @"
    exit 1
    ----- stderr
    Installing Bun 1.4.5 with npm …
    error: npm was not found, and Bun is installed with it
      hint: install Node.js with npm (Debian and Ubuntu: `apt-get install npm`), then run `beeuni setup` again
      hint: or install Bun 1.4.5 yourself and name it with BEEUNI_BUN
    ");
}

#[test]
fn setup_with_an_npm_that_fails_shows_its_reason_and_changes_nothing() {
    let machine = Machine::new(MANIFEST);
    machine.program("npm", "echo 'npm error network request failed' >&2; exit 1");
    let ran = machine.run(&["setup"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("caused by: npm error network request failed"),
        "{ran}"
    );
    assert!(machine.bun().is_none());
}

#[test]
fn setup_refuses_a_bun_that_is_not_the_pinned_one() {
    let machine = Machine::new(MANIFEST);
    machine.npm("9.9.9");
    let ran = machine.run(&["setup"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("npm installed Bun 9.9.9 instead of 1.4.5"), "{ran}");
    assert!(machine.bun().is_none());
}

#[test]
fn the_folder_can_be_chosen() {
    let machine = Machine::new(MANIFEST);
    machine.npm("1.4.5");
    let mut command = machine.shell.command(["setup"]);
    command
        .env("PATH", machine.shell.root().join("bin"))
        .env("BEEUNI_RUNTIME_DIR", machine.shell.root().join("own"));
    assert_eq!(machine.shell.ran(&mut command).code, 0);
    assert!(machine.bun_in("own").is_some() && machine.bun().is_none());
}

#[test]
fn doctor_on_a_bare_machine_names_each_command_and_exits_1() {
    insta::assert_snapshot!(Machine::new("beeuni_version: 2\ntools: []\n").run(&["doctor"]), @"
    exit 1
    ----- stdout
    missing  bun             not in [DIR]/home/.local/share/beeuni/runtime, not on PATH
                             fix: beeuni setup
    missing  git             not installed: sessions work on git branches
                             fix: apt-get install git
    missing  npm             not installed: `beeuni setup` installs Bun and OpenCode with it
                             fix: apt-get install npm
    missing  bwrap           not installed: sessions run inside bubblewrap; tools do not need it
                             fix: apt-get install bubblewrap
    missing  opencode        not in [DIR]/home/.local/share/beeuni/runtime, not on PATH: the standard harness; tools do not need it
                             fix: beeuni setup
    missing  ripgrep         not in [DIR]/home/.local/share/beeuni/runtime, not on PATH: OpenCode searches with it
                             fix: beeuni setup
    ok       cache folder    [DIR]/home/.cache/beeuni
    ok       runtime folder  [DIR]/home/.local/share/beeuni/runtime
    missing  models          no provider is set up: without a local Ollama a built-in stand-in answers `beeuni run`
                             fix: export OPENAI_API_KEY=… (other providers: `beeuni models --help`)
    failed   project         beeuni.yaml has 1 finding
                             fix: beeuni validate

    Tools cannot run yet.
    ");
}

#[test]
fn doctor_on_a_machine_that_has_what_tools_need_exits_0() {
    let machine = Machine::new(MANIFEST);
    machine.npm("1.4.5");
    assert_eq!(machine.run(&["setup"]).code, 0);
    fs::remove_dir_all(machine.ripgrep().unwrap().ancestors().nth(3).unwrap()).unwrap();
    machine.program("npm", "echo 11.0.0");
    machine.program("git", "echo git version 2.50.0");
    machine.program("bwrap", "echo bubblewrap 0.11.0");
    machine.program("rg", "echo ripgrep 13.0.0");
    insta::assert_snapshot!(portable(&machine.run(&["doctor"])), @"
    exit 0
    ----- stdout
    ok       bun             1.4.5 at [DIR]/home/.local/share/beeuni/runtime/node_modules/@oven/[PACKAGE]/bin/bun (installed by `beeuni setup`)
    ok       git             git version 2.50.0
    ok       npm             11.0.0
    ok       bwrap           bubblewrap 0.11.0
    ok       opencode        1.18.33 at [DIR]/home/.local/share/beeuni/runtime/node_modules/[PACKAGE]/bin/opencode (installed by `beeuni setup`)
    ok       ripgrep         13.0.0 at [DIR]/bin/rg (on PATH)
    ok       cache folder    [DIR]/home/.cache/beeuni
    ok       runtime folder  [DIR]/home/.local/share/beeuni/runtime
    missing  models          no provider is set up: without a local Ollama a built-in stand-in answers `beeuni run`
                             fix: export OPENAI_API_KEY=… (other providers: `beeuni models --help`)
    ok       project         beeuni.yaml is valid

    Tools can run.
    ");
}

/// The state of Bun as `doctor --json` tells it.
fn bun_state(machine: &Machine) -> (i32, String, String) {
    let ran = machine.run(&["doctor", "--json"]);
    let json: Value = ran.json();
    let finding = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["name"] == "bun")
        .unwrap()
        .clone();
    assert_eq!(json["ok"], ran.code == 0);
    assert_eq!(finding["required"], true);
    let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    (ran.code, text("state"), text("fix"))
}

#[test]
fn doctor_tells_an_untested_opencode_from_a_broken_one() {
    let machine = Machine::new(MANIFEST);
    let opencode = |setting: Option<&str>| {
        let mut command = machine.shell.command(["doctor", "--json"]);
        command.env("PATH", machine.shell.root().join("bin"));
        if let Some(setting) = setting {
            command.env("BEEUNI_OPENCODE", setting);
        }
        let findings = machine.shell.ran(&mut command).json();
        let findings = findings["findings"].as_array().unwrap().clone();
        let finding = findings
            .iter()
            .find(|finding| finding["name"] == "opencode")
            .unwrap()
            .clone();
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        (text("state"), text("fix"), text("detail"))
    };
    assert_eq!(opencode(None).0, "missing");
    machine.program("opencode", "echo 1.18.33");
    assert_eq!(opencode(None).0, "ok");
    machine.program("opencode", "echo 1.20.0");
    let (state, fix, detail) = opencode(None);
    assert_eq!((&*state, &*fix), ("warning", "beeuni setup"));
    assert!(
        detail.contains("1.20.0") && detail.contains("on PATH") && detail.contains("tested with 1.18.33"),
        "{detail}"
    );
    machine.program("opencode", "exit 1");
    assert_eq!(opencode(None).0, "failed");
    let (state, fix, detail) = opencode(Some("/nowhere/opencode"));
    assert_eq!((&*state, &*fix), ("missing", "unset BEEUNI_OPENCODE && beeuni setup"));
    assert!(
        detail.contains("BEEUNI_OPENCODE=/nowhere/opencode is no executable file"),
        "{detail}"
    );
}

#[test]
fn doctor_tells_old_and_untested_versions_apart() {
    let machine = Machine::new(MANIFEST);
    let state = |version: &str| {
        machine.program("bun", &format!("echo {version}"));
        bun_state(&machine)
    };
    assert_eq!(state("1.4.5"), (0, "ok".to_owned(), String::new()));
    assert_eq!(state("1.5.0"), (0, "warning".to_owned(), "beeuni setup".to_owned()));
    assert_eq!(state("1.1.0"), (1, "failed".to_owned(), "beeuni setup".to_owned()));
    let mut command = machine.shell.command(["doctor"]);
    command
        .env("PATH", machine.shell.root().join("bin"))
        .env("BEEUNI_BUN", "/nowhere/bun");
    let ran = machine.shell.ran(&mut command);
    assert!(ran.stdout.contains("fix: unset BEEUNI_BUN && beeuni setup\n"), "{ran}");
    machine.program("bun", "exit 1");
    assert_eq!(bun_state(&machine).1, "failed");
}
