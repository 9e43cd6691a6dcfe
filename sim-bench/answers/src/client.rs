//! A client of `cargo unpause serve`: JSON-RPC 2.0, one message per line (Model Context Protocol 2025-06-18).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub(crate) struct Server {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    /// Starts the server in a folder.
    pub(crate) fn start(command: &Path, folder: &Path) -> Result<Server, String> {
        let mut process = Command::new(command)
            .args(["unpause", "serve"])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", command.display()))?;
        let to = process.stdin.take().expect("it is piped");
        let from = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut server = Server { process, to, from, next: 0 };
        server.call(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "answers", "version": "0.1.0"},
            }),
        )?;
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    /// Returns the reply of the verb `test` for the tests of a package.
    pub(crate) fn test(&mut self, package: &str) -> Result<Value, String> {
        let arguments = json!({"name": "test", "arguments": {"package": package}});
        let reply = self.call("tools/call", arguments)?;
        Ok(reply["structuredContent"].clone())
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        writeln!(self.to, "{message}").map_err(|error| format!("the server does not read: {error}"))
    }

    fn call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            let read = self.from.read_line(&mut line).map_err(|error| error.to_string())?;
            if read == 0 {
                return Err(format!("the server has ended without a reply to {method}"));
            }
            let reply: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            if reply["id"] == json!(id) {
                return match &reply["error"] {
                    Value::Null => Ok(reply["result"].clone()),
                    error => Err(format!("{method}: {error}")),
                };
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
