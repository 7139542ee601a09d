//! The environment that tools see, and where Bun is found.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Variables that describe the machine and hold no credential. Everything else stays with the daemon: a list
/// of what is harmless cannot forget a new kind of key, a list of what is secret can.
const SANDBOX_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "TMPDIR",
    "TMP",
    "TEMP",
    "HOSTNAME",
    "CI",
    "EDITOR",
    "PAGER",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "no_proxy",
];
const SANDBOX_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// The environment that tools see, taken from this process's: well-known names (`PATH`, `HOME`, `LANG`, `TZ`,
/// `LC_*`, `XDG_*`, …) plus `BEEUNI_API_URL` and the names in `pass`; never a credential that was not named.
/// Names or values that are not UTF-8 are left out. With a proxy among them, this machine is exempt from it.
pub fn sandbox_env(pass: &[String]) -> BTreeMap<String, String> {
    sandbox_env_of(
        std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))),
        pass,
    )
}

fn sandbox_env_of(all: impl Iterator<Item = (String, String)>, pass: &[String]) -> BTreeMap<String, String> {
    let mut env = all
        .filter(|(name, _)| {
            name == "BEEUNI_API_URL"
                || SANDBOX_VARIABLES.contains(&name.as_str())
                || SANDBOX_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                || pass.contains(name)
        })
        .collect();
    exempt_this_machine(&mut env);
    env
}

/// What no proxy can reach: the daemon's router, a server that a command has just started.
const THIS_MACHINE: [&str; 3] = ["127.0.0.1", "localhost", "::1"];

/// Where `env` names a proxy, keeps the addresses of this machine away from it.
pub fn exempt_this_machine(env: &mut BTreeMap<String, String>) {
    let is_proxy = |name: &String| {
        let name = name.to_ascii_lowercase();
        matches!(name.as_str(), "http_proxy" | "https_proxy" | "all_proxy")
    };
    if !env.keys().any(is_proxy) {
        return;
    }
    // Programs differ in which of the two they read, and both may be there.
    let known = ["no_proxy", "NO_PROXY"].map(|name| env.get(name).cloned().unwrap_or_default());
    let mut exempt: Vec<&str> = Vec::new();
    let entries = known.iter().flat_map(|list| list.split(',')).map(str::trim);
    for entry in entries.filter(|entry| !entry.is_empty()).chain(THIS_MACHINE) {
        if !exempt.contains(&entry) {
            exempt.push(entry);
        }
    }
    // `*` stands alone, or some programs take it for a name.
    let exempt = if exempt.contains(&"*") {
        "*".to_owned()
    } else {
        exempt.join(",")
    };
    for name in ["no_proxy", "NO_PROXY"] {
        env.insert(name.to_owned(), exempt.clone());
    }
}

/// No Bun was found.
#[derive(Debug, thiserror::Error)]
#[error("Bun was not found ({}): run `beeuni setup`, or name it with BEEUNI_BUN", tried.join(", "))]
pub struct BunMissing {
    /// The places that were tried.
    pub tried: Vec<String>,
}

/// Finds Bun: `explicit` (the setting BEEUNI_BUN), then `managed` (the folder that `beeuni setup` fills), then
/// `PATH`. The managed folder is laid out as `npm install @oven/bun-<platform>` does. An explicit setting that names no executable file is an error, never skipped.
pub fn find_bun(explicit: Option<&Path>, managed: &Path) -> Result<PathBuf, BunMissing> {
    find_bun_in(explicit, managed, std::env::var_os("PATH").as_deref())
}

fn find_bun_in(explicit: Option<&Path>, managed: &Path, path: Option<&OsStr>) -> Result<PathBuf, BunMissing> {
    if let Some(bun) = explicit {
        return if is_executable(bun) {
            Ok(bun.to_owned())
        } else {
            Err(BunMissing {
                tried: vec![format!("BEEUNI_BUN={} is no executable file", bun.display())],
            })
        };
    }
    let mut tried = Vec::new();
    // npm installs the one platform package that fits the machine.
    for platform in [
        "linux-x64",
        "linux-aarch64",
        "linux-x64-musl",
        "linux-aarch64-musl",
        "darwin-aarch64",
        "darwin-x64",
    ] {
        let candidate = managed.join(format!("node_modules/@oven/bun-{platform}/bin/bun"));
        if is_executable(&candidate) {
            return Ok(candidate);
        }
    }
    tried.push(format!("not in {}", managed.display()));
    for folder in path.map(std::env::split_paths).into_iter().flatten() {
        let candidate = folder.join("bun");
        if is_executable(&candidate) {
            return Ok(candidate);
        }
    }
    tried.push("not on PATH".to_owned());
    Err(BunMissing { tried })
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn sec_03_credentials_of_the_daemon_stay_with_it() {
        let all = [
            "PATH",
            "HOME",
            "LC_ALL",
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "BEEUNI_TOKEN",
            "DATABASE_URL",
            "HTTPS_PROXY",
            "CITY",
        ];
        let env = sandbox_env_of(
            all.iter().map(|n| ((*n).to_owned(), "v".to_owned())),
            &["CITY".to_owned()],
        );
        assert_eq!(env.keys().collect::<Vec<_>>(), ["CITY", "HOME", "LC_ALL", "PATH"]);
    }

    #[test]
    fn a_proxy_does_not_stand_between_tools_and_this_machine() {
        let env = |all: &[(&str, &str)], pass: &str| {
            let all = all
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            sandbox_env_of(all, &[pass.to_owned()])
        };
        let both = |env: &BTreeMap<String, String>| [env["NO_PROXY"].clone(), env["no_proxy"].clone()];
        let proxy = ("HTTP_PROXY", "http://proxy.example.com:3128");
        let alone = env(&[proxy], "HTTP_PROXY");
        assert_eq!(both(&alone), ["127.0.0.1,localhost,::1"; 2]);
        let listed = env(
            &[
                proxy,
                ("NO_PROXY", "example.com, localhost"),
                ("no_proxy", "10.0.0.0/8"),
            ],
            "HTTP_PROXY",
        );
        assert_eq!(both(&listed), ["10.0.0.0/8,example.com,localhost,127.0.0.1,::1"; 2]);
        let none = env(&[("https_proxy", "http://[::1]:1"), ("NO_PROXY", "*")], "https_proxy");
        assert_eq!(both(&none), ["*"; 2]);
        // A proxy that tools do not see needs no exception from it.
        assert!(env(&[proxy], "OTHER").is_empty());
    }

    #[test]
    fn bun_is_taken_from_the_setting_then_the_managed_folder_then_path() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let (explicit, on_path) = (make("explicit"), make("path/bun"));
        let managed = folder.path().join("managed");
        let path = folder.path().join("path");
        let find = |explicit: Option<&Path>| find_bun_in(explicit, &managed, Some(path.as_os_str()));
        assert_eq!(find(None).unwrap(), on_path);
        let in_managed = make("managed/node_modules/@oven/bun-linux-x64/bin/bun");
        assert_eq!(find(None).unwrap(), in_managed);
        assert_eq!(find(Some(&explicit)).unwrap(), explicit);
        let missing = find(Some(Path::new("/nonexistent/bun"))).unwrap_err().to_string();
        assert!(
            missing.contains("BEEUNI_BUN=/nonexistent/bun") && missing.contains("beeuni setup"),
            "{missing}"
        );
    }
}
