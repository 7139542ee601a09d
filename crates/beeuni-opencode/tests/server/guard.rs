//! The guard in the tests of this crate: what `beeuni tool-guard …` does in the real binary.

fn main() {
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    std::process::exit(beeuni_tools::guard_main(args.get(2..).unwrap_or_default()));
}
