//! A headless Chromium that is driven over its debugging pipe.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

/// The names of the program, the first that is found counts. The variable `CHROMIUM` names another one.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A browser with one page.
pub struct Chromium {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    last: u64,
    session: Option<String>,
    /// Errors that the page raised or logged.
    pub errors: Vec<String>,
    loads: usize,
    _profile: tempfile::TempDir,
}

impl Chromium {
    /// Starts the browser; `None`, with a note why, if there is none.
    pub fn start() -> Option<Self> {
        let Some(program) = find() else {
            eprintln!("skipped: none of {} is installed, and CHROMIUM names none", NAMES.join(", "));
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // the pipe is on descriptors 3 and 4
        let script = r#"exec "$0" --headless --no-sandbox --disable-gpu --remote-debugging-pipe --user-data-dir="$1" 3<&0 4>&1 >/dev/null 2>&1"#;
        let mut process = Command::new("sh")
            .args(["-c", script])
            .args([&program, profile.path()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (requests, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let answers = BufReader::new(answers);
        let mut browser = Self {
            process,
            requests,
            answers,
            last: 0,
            session: None,
            errors: Vec::new(),
            loads: 0,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", &attached);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Opens the file at `path` with this fragment, in a window `width` pixels wide.
    pub fn open(&mut self, path: &Path, fragment: &str, width: u32) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        // another fragment of the same file would not load it again
        for url in ["about:blank".to_owned(), format!("file://{}{fragment}", path.display())] {
            let loads = self.loads;
            self.call("Page.navigate", &json!({ "url": url }));
            while self.loads == loads {
                let event = self.read();
                self.note(&event);
            }
        }
    }

    /// The value of a JavaScript expression in the page; a promise is awaited.
    pub fn value(&mut self, expression: &str) -> Value {
        let options = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &options);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Types text into what has the focus.
    pub fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// Presses and releases a key, with its name, its code for Windows, and the text that it gives.
    pub fn press(&mut self, key: &str, code: u32, text: &str) {
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Shows pages as to a person who prefers dark or light colors.
    pub fn prefer(&mut self, scheme: &str) {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": feature }));
    }

    /// Turns the scripts of pages that are opened from now on off or on.
    pub fn set_scripts(&mut self, enabled: bool) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({ "value": !enabled }));
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut request = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).unwrap();
        loop {
            let mut answer = self.read();
            if answer["id"] == self.last {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.note(&answer);
        }
    }

    fn read(&mut self) -> Value {
        let mut message = Vec::new();
        self.answers.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "Chromium ended");
        serde_json::from_slice(&message).unwrap()
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Page.loadEventFired") => self.loads += 1,
            Some("Runtime.exceptionThrown" | "Log.entryAdded") => self.errors.push(parameters.to_string()),
            Some("Runtime.consoleAPICalled") if parameters["type"] == "error" => {
                self.errors.push(parameters.to_string());
            }
            _ => {}
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn find() -> Option<PathBuf> {
    let named = env::var_os("CHROMIUM").map(PathBuf::from);
    let folders: Vec<_> = env::split_paths(&env::var_os("PATH")?).collect();
    let installed = || NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    named.into_iter().chain(installed()).find(|path| path.is_file())
}
