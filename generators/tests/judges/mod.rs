//! The judges, and the Python packages they come in.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde::Deserialize;

/// What pip installs.
pub const PACKAGES: [&str; 2] = ["onnx==1.23.2", "onnxruntime==1.31.1"];

/// The Python packages in a folder of their own.
pub struct Judges {
    packages: PathBuf,
}

/// What each judge says against a model; nothing where it accepts it.
#[derive(Clone, Debug, Deserialize)]
pub struct Ruling {
    pub checker: Option<String>,
    pub inference: Option<String>,
    pub onnxruntime: Option<String>,
}

impl Judges {
    /// Installs the packages into the cache folder unless they are there; an error says what is missing.
    pub fn summon() -> Result<Self, String> {
        let version = output(Command::new("python3").arg("--version"))?;
        let name = format!("{} {}", version.trim(), PACKAGES.join(" ")).replace(' ', "-");
        let packages = cache()?.join("python").join(name);
        if !packages.is_dir() {
            install(&packages)?;
        }
        Ok(Self { packages })
    }

    /// One ruling a model, in order.
    pub fn rule(&self, models: impl Iterator<Item = Vec<u8>>) -> Vec<Ruling> {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut count = 0;
        for model in models {
            fs::write(folder.path().join(format!("{count:08}.onnx")), model).expect("a model can be written");
            count += 1;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check_models.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(folder.path()).env("PYTHONPATH", &self.packages);
        let lines = output(&mut command).expect("the judges answer");
        let rulings: Vec<_> =
            lines.lines().map(|line| serde_json::from_str(line).expect("a ruling is an object")).collect();
        assert_eq!(rulings.len(), count, "each model is ruled on");
        rulings
    }
}

impl Ruling {
    /// What was said against the model, by judge.
    pub fn refusals(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let judges =
            [("checker", &self.checker), ("inference", &self.inference), ("onnxruntime", &self.onnxruntime)];
        judges.into_iter().filter_map(|(judge, refusal)| Some((judge, refusal.as_deref()?)))
    }
}

fn cache() -> Result<PathBuf, String> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("TWINFER_HOME")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("twinfer")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/twinfer")))
        .ok_or_else(|| {
            "no cache folder is known: set TWINFER_HOME to a folder that can be written".to_owned()
        })
}

/// Fills a folder beside the wanted one, which then appears at once.
fn install(packages: &Path) -> Result<(), String> {
    let parent = packages.parent().ok_or("the cache folder has no parent")?;
    fs::create_dir_all(parent).map_err(|error| format!("{} cannot be made: {error}", parent.display()))?;
    let work = tempfile::tempdir_in(parent).map_err(|error| format!("nothing can be put there: {error}"))?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--target"]);
    output(pip.arg(work.path()).args(PACKAGES))?;
    match fs::rename(work.keep(), packages) {
        Err(error) if !packages.is_dir() => Err(format!("{} cannot be made: {error}", packages.display())),
        _ => Ok(()),
    }
}

/// What a command prints; an error is its last words.
fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    Err(format!("{program} ended with {}: {last}", output.status))
}
