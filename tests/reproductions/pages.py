"""What `twinfer repro` writes."""
import pathlib
import re
import shutil

STAND_IN = pathlib.Path(__file__).with_name("golden_model.py")


def commands(page):
    """The pairs of lines that the page tells its reader to run: what to install, and then what shows the bug."""
    return re.findall(r"^```\n(pip install .*)\n(python reproduce\.py.*)\n```$", (page / "README.md").read_text(), re.MULTILINE)


def answered_by_golden(page):
    """A copy of the page whose backend gives golden's values, and refuses what ONNX forbids."""
    folder = page.with_name(f"{page.name}-answered-by-golden")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(page, folder)
    (folder / "run_model.py").rename(folder / "backends.py")
    shutil.copy(STAND_IN, folder / "run_model.py")
    return folder
