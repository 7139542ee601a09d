//! Sockets: the Unix socket's permissions and its life, and the `Host` header.
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use serde_json::json;

use crate::support::{Connection, Daemon, Project, request, signed};

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn on(project: &Project, socket: &Path) -> Daemon {
    project.daemon(&["--listen", &format!("unix:{}", socket.display())])
}

#[test]
fn a_unix_socket_is_private_answers_and_goes_with_the_daemon() {
    let project = Project::new(&[]);
    let socket = project.beside("run/beeuni/daemon.sock");
    let daemon = on(&project, &socket);
    assert_eq!(daemon.ready["url"], json!(format!("unix:{}", socket.display())));
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
    let mut connection = Connection::unix(&socket).unwrap();
    let body = r#"{"args":{"a":1}}"#;
    assert_eq!(
        connection
            .ask(&request("POST", "/beeuni/tools/echo", &signed(), body))
            .status,
        200
    );
    assert_eq!(
        connection.ask(&request("POST", "/beeuni/tools/echo", "", body)).status,
        401
    );
    // A socket has no name to be mistaken for.
    let named = request("GET", "/beeuni/health", "", "").replace("host: 127.0.0.1", "host: beeuni");
    assert_eq!(connection.ask(&named).status, 200);
    daemon.stop();
    assert!(!socket.exists(), "the socket's file is left");
}

#[test]
fn a_stale_socket_is_replaced_and_a_living_one_is_not() {
    let project = Project::new(&[]);
    let socket = project.beside("run/daemon.sock");
    let daemon = on(&project, &socket);
    let other = Project::new(&[]);
    let listen = format!("unix:{}", socket.display());
    let (code, _, log) = other.refused(&["--listen", &listen]);
    assert!(
        code == 1 && log.contains(&listen) && log.contains("another process listens there"),
        "{code} {log}"
    );
    drop(daemon); // with SIGKILL, so the file stays
    assert!(std::fs::symlink_metadata(&socket).unwrap().file_type().is_socket());
    on(&project, &socket).stop();
}

#[test]
fn a_file_or_an_open_folder_in_the_sockets_place_is_refused_and_kept() {
    let project = Project::new(&[]);
    let folder = project.beside("open");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let listen = format!("unix:{}", folder.join("daemon.sock").display());
    let (code, _, log) = project.refused(&["--listen", &listen]);
    assert!(code == 1 && log.contains("others can enter its folder"), "{code} {log}");
    assert_eq!(mode(&folder), 0o755);

    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::write(folder.join("daemon.sock"), "notes").unwrap();
    let (code, _, log) = project.refused(&["--listen", &listen]);
    assert!(code == 1 && log.contains("no socket"), "{code} {log}");
    assert_eq!(std::fs::read_to_string(folder.join("daemon.sock")).unwrap(), "notes");
}

#[test]
fn a_request_for_another_host_is_403_whatever_it_carries() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    let port = daemon.address().split_once(':').unwrap().1.to_owned();
    let ask = |host: &str, path: &str| {
        let text = request("GET", path, &signed(), "").replace("host: 127.0.0.1\r\n", host);
        daemon.connect().ask(&text).status
    };
    for own in [
        "host: 127.0.0.1\r\n",
        &format!("host: 127.0.0.1:{port}\r\n"),
        "Host: localhost:80\r\n",
        "host: [::1]:1\r\n",
    ] {
        assert_eq!(ask(own, "/beeuni/tools"), 200, "{own}");
    }
    for foreign in [
        "host: evil.example.com\r\n",
        "host: 127.0.0.1.example.com\r\n",
        "host: 192.0.2.7:80\r\n",
        "host:\r\n",
        "",
        "host: localhost\r\nhost: evil.example.com\r\n",
    ] {
        for path in ["/beeuni/tools", "/beeuni/health"] {
            assert_eq!(ask(foreign, path), 403, "{foreign}");
        }
    }
    assert_eq!(
        ask("host: localhost\r\n", "http://evil.example.com/beeuni/tools"),
        403,
        "a target that names another host"
    );
    assert_eq!(
        ask("host: localhost\r\n", &format!("http://127.0.0.1:{port}/beeuni/tools")),
        200
    );
}

#[test]
fn ipv6_loopback_is_loopback() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        // A machine without IPv6 has nothing to test here.
        return;
    }
    let project = Project::new(&[]);
    let daemon = project.daemon(&["--listen", "[::1]:0"]);
    assert!(daemon.address().starts_with("[::1]:"), "{}", daemon.address());
    assert_eq!(daemon.ask("GET", "/beeuni/tools", "").status, 200);
}
