//! A headless Chromium that the tests control through its devtools protocol, over pipes. The browser's clicks and keys
//! have the same effect as the clicks and keys of a user.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Once;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

/// The names of the program. The variable comes first.
const VARIABLE: &str = "UNPAUSE_CHROMIUM";
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one tab.
pub(crate) struct Browser {
    /// The pipe for commands. The browser ends together with this process, because the pipe is then closed.
    commands: ChildStdin,
    answers: Receiver<Json>,
    session: Option<String>,
    count: u64,
    /// The addresses that the page requested.
    pub(crate) requests: Vec<String>,
    /// Errors of the script.
    pub(crate) errors: Vec<String>,
}

/// Returns the path of the browser, if this machine has a browser. Without a browser, a message goes to standard error,
/// which libtest does not capture.
pub(crate) fn program() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let known = std::env::split_paths(&folders)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|path| path.is_file());
    let found = named.or(known);
    if found.is_none() {
        let text = format!(
            "WARNING: SKIPPED: no Chromium, so the page of a failure is not tested: install chromium, or set {VARIABLE}\n"
        );
        static ONCE: Once = Once::new();
        ONCE.call_once(|| drop(std::io::stderr().write_all(text.as_bytes())));
    }
    found
}

impl Browser {
    /// Starts the browser without access to the network.
    pub(crate) fn start(program: &Path, name: &str) -> Browser {
        let profile =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("page").join(name).join("profile");
        let _ = fs::remove_dir_all(&profile);
        fs::create_dir_all(&profile).unwrap();
        // The browser reads commands from the descriptor 3 and answers on 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 >/dev/null 2>&1 </dev/null"])
            .arg(program)
            .args([
                "--headless",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-dev-shm-usage",
                "--disable-extensions",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = process.stdin.take().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let (sender, answers) = channel();
        // A thread, because a pipe is read without a limit of time. The thread ends with the browser.
        thread::spawn(move || {
            loop {
                let mut bytes = Vec::new();
                if !matches!(output.read_until(0, &mut bytes), Ok(1..)) || bytes.pop() != Some(0) {
                    return;
                }
                if sender.send(serde_json::from_slice(&bytes).unwrap()).is_err() {
                    return;
                }
            }
        });
        let (session, count, requests, errors) = (None, 0, Vec::new(), Vec::new());
        // The browser ends when its pipes are closed.
        thread::spawn(move || process.wait());
        let mut browser = Browser { commands, answers, session, count, requests, errors };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", target);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.size(1400, 900);
        browser
    }

    /// Calls a method of the protocol, and returns its result.
    pub(crate) fn call(&mut self, method: &str, parameters: Json) -> Json {
        self.count += 1;
        let mut message = json!({"id": self.count, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.commands.write_all(format!("{message}\0").as_bytes()).unwrap();
        self.commands.flush().unwrap();
        loop {
            let answer = self.answers.recv_timeout(PATIENCE);
            let answer: Json = answer.unwrap_or_else(|why| panic!("no answer to {method}: {why}"));
            if answer["id"] == json!(self.count) {
                assert!(answer.get("error").is_none(), "{method} {answer}");
                return answer["result"].clone();
            }
            let parameters = &answer["params"];
            match answer["method"].as_str() {
                Some("Network.requestWillBeSent") => {
                    self.requests.push(parameters["request"]["url"].to_string());
                }
                Some("Runtime.exceptionThrown" | "Log.entryAdded") => {
                    self.errors.push(parameters.to_string());
                }
                _ => {}
            }
        }
    }

    /// Opens a file, with a state in its address, and waits until it is drawn.
    pub(crate) fn open(&mut self, file: &Path, state: &str) {
        // The browser first opens an empty page, because otherwise only the address might change.
        self.call("Page.navigate", json!({"url": "about:blank"}));
        self.until("location.href === 'about:blank'");
        self.requests.clear();
        self.errors.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}{state}", file.display())}));
        self.until("location.protocol === 'file:' && document.readyState === 'complete'");
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Json {
        let parameters = json!({"expression": expression, "returnByValue": true});
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    pub(crate) fn number(&mut self, expression: &str) -> u64 {
        let value = self.value(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression}: {value}")) as u64
    }

    /// The text of the first element that a selector names.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let value = self.value(&format!("document.querySelector({selector:?}).innerText"));
        value.as_str().unwrap_or_else(|| panic!("{selector}: {value}")).to_owned()
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let started = Instant::now();
        while self.value(expression) != json!(true) {
            assert!(started.elapsed() < PATIENCE, "never true: {expression}");
            sleep(Duration::from_millis(10));
        }
    }

    /// Clicks at the left end of an element, at half its height, like a mouse.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const it = document.querySelector({selector:?}); it.scrollIntoView({{block: 'center'}}); \
             const box = it.getBoundingClientRect(); \
             return [box.left + Math.min(box.width / 2, 150), box.top + box.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Moves the mouse over an element.
    pub(crate) fn hover(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const box = document.querySelector({selector:?}).getBoundingClientRect(); \
             return [box.left + 150, box.top + box.height / 2]; }})()"
        ));
        let event = json!({"type": "mouseMoved", "x": place[0], "y": place[1]});
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Presses a key: a letter, or a key with a name.
    pub(crate) fn key(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "PageUp" => 33,
            "PageDown" => 34,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut event = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code});
        let text = if key == "Enter" { "\r" } else { key };
        if text.chars().count() == 1 {
            event["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", event);
        self.call(
            "Input.dispatchKeyEvent",
            json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}),
        );
    }

    /// Types a text into the field that has the focus.
    pub(crate) fn types(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// The size of the window.
    pub(crate) fn size(&mut self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// The preference of the user: dark or light, and colours of the system only.
    pub(crate) fn prefers(&mut self, scheme: &str, forced: bool) {
        let forced = if forced { "active" } else { "none" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme},
            {"name": "forced-colors", "value": forced}]});
        self.call("Emulation.setEmulatedMedia", features);
    }
}
