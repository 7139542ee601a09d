//! The listening socket: loopback, or a Unix socket that only its owner can open.
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream as BlockingUnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::config::Listen;
use crate::error::DaemonError;

/// A socket that takes connections. A Unix socket's file goes with it.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

/// A connection.
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// The file of a Unix socket; dropping removes it.
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Listener {
    /// Takes the address. From here on clients can connect.
    pub(crate) async fn bind(listen: &Listen) -> Result<Self, DaemonError> {
        listen.check()?;
        let failed = |source| DaemonError::Bind {
            listen: listen.to_string(),
            source,
        };
        match listen {
            Listen::Tcp(address) => TcpListener::bind(address).await.map(Self::Tcp).map_err(failed),
            Listen::Unix(path) => {
                let path = std::path::absolute(path).map_err(failed)?;
                check_folder(&path)?;
                make_room(&path).map_err(failed)?;
                // Closed from its first moment on: a chmod after the bind would leave a gap.
                let before = rustix::process::umask(Mode::from_raw_mode(0o177));
                let bound = UnixListener::bind(&path);
                rustix::process::umask(before);
                Ok(Self::Unix(bound.map_err(failed)?, SocketFile(path)))
            }
        }
    }

    /// Where it listens, as clients are told.
    pub(crate) fn url(&self) -> io::Result<String> {
        Ok(match self {
            Self::Tcp(listener) => format!("http://{}", listener.local_addr()?),
            Self::Unix(_, file) => format!("unix:{}", file.0.display()),
        })
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // An answer is one write: waiting for more to send only delays it.
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
            Self::Unix(listener, _) => Ok(Socket::Unix(listener.accept().await?.0)),
        }
    }
}

/// The socket's folder is ours alone; made when it is missing.
fn check_folder(socket: &Path) -> Result<(), DaemonError> {
    let folder = socket.parent().unwrap_or(Path::new("/"));
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    let found = made
        .and_then(|()| fs::metadata(folder))
        .map_err(|source| DaemonError::State {
            action: "use the socket's folder",
            path: folder.to_owned(),
            source,
        })?;
    if found.mode() & 0o077 == 0 && found.uid() == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(DaemonError::SocketFolder {
        socket: socket.to_owned(),
    })
}

/// Removes the socket of a daemon that is gone.
fn make_room(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "a file that is no socket stands there: name another path, or remove it",
        ));
    }
    match BlockingUnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another process listens there: stop it, or name another path",
        )),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
    }
}
