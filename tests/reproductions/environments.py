"""Python environments that hold what a page tells its reader to install, and nothing else."""
import os
import shlex
import subprocess
import sys
import threading


class Environments:
    """One environment for each list of packages, made when it is needed first."""

    def __init__(self, folder):
        self._folder, self._lock, self._ready = folder, threading.Lock(), {}

    def status(self, page, install, command):
        """Runs a command of a page where its packages are installed: the exit status."""
        result = subprocess.run(shlex.split(command), cwd=page, env=self._variables(install), capture_output=True, text=True, errors="replace")
        kept = page / f"{command.replace('/', '-')}.printed.txt"
        kept.write_text(f"{result.stdout}{result.stderr}status {result.returncode}\n")
        return result.returncode

    def _variables(self, install):
        with self._lock:
            if install not in self._ready:
                self._ready[install] = self._made(install)
            return self._ready[install]

    def _made(self, install):
        environment = self._folder / str(len(self._ready))
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
        outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        variables = {**outside, "PATH": f"{environment / 'bin'}:/usr/bin:/bin", "PYTHONNOUSERSITE": "1"}
        subprocess.run([environment / "bin/pip", *shlex.split(install)[1:], "--quiet"], check=True, env=variables)
        return variables
