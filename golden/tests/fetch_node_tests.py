"""Fetches ONNX's backend node tests into a folder: python3 fetch_node_tests.py FOLDER

They ship as data in the PyPI package onnx; 1.22.0 is the last version whose wheel holds them.
"""

import pathlib
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "onnx==1.22.0"
PREFIX = "onnx/backend/test/data/node/"


def main(folder: pathlib.Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
        # any platform's wheel holds the same data
        platform = ["--no-deps", "--only-binary=:all:", "--python-version", "3.11"]
        platform += ["--implementation", "cp", "--platform", "manylinux_2_28_x86_64"]
        subprocess.run([*pip, *platform, "--dest", work, PACKAGE], check=True)
        (wheel,) = pathlib.Path(work).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(work, [name for name in archive.namelist() if name.startswith(PREFIX)])
        unpacked = pathlib.Path(work, PREFIX)
        if not any(unpacked.iterdir()):
            sys.exit(f"{wheel.name} holds no node tests")
        # a whole folder appears at once, so that a second process never sees half of it
        try:
            unpacked.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: fetch_node_tests.py FOLDER")
    main(pathlib.Path(sys.argv[1]).absolute())
