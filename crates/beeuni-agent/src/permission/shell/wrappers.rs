//! Programs that run others: how their arguments are read.

/// A program that runs the rest of its arguments.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Options that take the next word as their value.
    pub(super) valued: &'static [&'static str],
    /// Options with which it runs nothing.
    pub(super) idle: &'static [&'static str],
    /// Words that stand between the options and the command.
    pub(super) operands: usize,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper {
        name,
        valued,
        idle: &[],
        operands,
    }
}

/// The programs that do.
pub(super) const WRAPPERS: &[Wrapper] = &[
    wrapper(
        "sudo",
        &[
            "-u",
            "--user",
            "-g",
            "--group",
            "-h",
            "--host",
            "-p",
            "--prompt",
            "-C",
            "--close-from",
            "-r",
            "--role",
            "-t",
            "--type",
            "-T",
            "--command-timeout",
            "-D",
            "--chdir",
            "-R",
            "--chroot",
            "-U",
            "--other-user",
        ],
        0,
    ),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("env", &["-u", "--unset", "-C", "--chdir", "-a", "--argv0"], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "--class", "-n", "--classdata"], 0),
    wrapper("chrt", &[], 1),
    wrapper("timeout", &["-k", "--kill-after", "-s", "--signal"], 1),
    wrapper("stdbuf", &["-i", "--input", "-o", "--output", "-e", "--error"], 0),
    wrapper("time", &["-f", "--format", "-o", "--output"], 0),
    Wrapper {
        name: "command",
        valued: &[],
        idle: &["-v", "-V"],
        operands: 0,
    },
    wrapper("builtin", &[], 0),
    wrapper("exec", &["-a"], 0),
    wrapper(
        "xargs",
        &[
            "-a",
            "--arg-file",
            "-d",
            "--delimiter",
            "-E",
            "-I",
            "-L",
            "-n",
            "--max-args",
            "-P",
            "--max-procs",
            "-s",
            "--max-chars",
            "--replace",
            "--max-lines",
            "--process-slot-var",
        ],
        0,
    ),
    wrapper("watch", &["-n", "--interval"], 0),
    wrapper("flock", &["-w", "--timeout", "--wait", "-E", "--conflict-exit-code"], 1),
    wrapper(
        "strace",
        &["-e", "-o", "-s", "-u", "-E", "-a", "-I", "-b", "-S", "-O", "-P", "-X"],
        0,
    ),
    wrapper("chroot", &[], 1),
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
];

/// Programs that run a text of shell commands.
pub(super) const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash"];
