"""How often a bug showed in the runs that an adapter was asked for."""
import dataclasses
import json
import pathlib

from bugs import differs
from operators import Evaluation


@dataclasses.dataclass
class Tally:
    """Counts of runs, kept in a file that is always up to date: workers are killed when they are no longer needed."""

    file: pathlib.Path
    runs: int = 0
    triggered: int = 0
    changed: int = 0  # some output has other bytes than without the bug
    visible: int = 0  # some output differs by more than rounding could explain in 32-bit floats

    def add(self, evaluation, inputs, values):
        """Counts one run of an evaluation, which gave these values."""
        self.runs += 1
        if evaluation.triggered:
            self.compare(evaluation, inputs, values)
        counts = {name: count for name, count in vars(self).items() if name != "file"}
        self.file.write_text(json.dumps(counts) + "\n")

    def compare(self, evaluation, inputs, values):
        """Counts a run in which the bug was triggered."""
        evaluation.triggered = 0
        self.triggered += 1
        right = Evaluation(evaluation.model).run(inputs)
        pairs = [(values[name], right[name]) for name in evaluation.model.outputs]
        self.changed += any(wrong.shape != right.shape or wrong.tobytes() != right.tobytes() for wrong, right in pairs)
        self.visible += any(differs(wrong, right) for wrong, right in pairs)
