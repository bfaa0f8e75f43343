"""What a campaign found: the findings of a run directory."""
import dataclasses
import enum
import json
import re

BESIDE = {"QuantizeLinear", "DequantizeLinear"}
RIGHT = 0.99
EXACT = 0.98
VAGUE = 0.01  # of the graphs; agreement in them says nothing


class Verdict(enum.Enum):
    """What the explanation of a finding is worth."""

    RIGHT = "right"  # it predicts with the finding's trigger what the bug does, and where
    RIGHT_IF_TRIGGERED = "right where triggered"  # it predicts what the bug does; the trigger is wrong or missing
    VAGUE = "vague"  # it agrees, but its bound is so wide that it would agree with right values where the bug shows
    WRONG = "wrong"
    NONE = "none"


@dataclasses.dataclass
class Finding:
    """One finding, as far as it is measured here."""

    name: str
    kind: str
    explanations: list  # names that golden knows; several are alternatives
    sentences: list
    trigger: object  # as finding.json has it; None if there is none
    elements: int
    nodes: int  # beyond the operator and quantizers
    first: int  # the case that showed it first
    agreement: dict = dataclasses.field(default_factory=dict)  # per explanation: explanations.Agreement.shares
    precision: float = 0.0  # of the trigger, on fresh graphs
    recall: float = 0.0

    @property
    def is_exactly_triggered(self):
        """Whether its trigger predicts where the bug shows."""
        return min(self.precision, self.recall) >= EXACT

    @property
    def verdict(self):
        """What its explanations are worth: the best of alternatives counts."""
        verdicts = [self.verdict_on(name) for name in self.explanations]
        return min(verdicts, key=list(Verdict).index, default=Verdict.NONE)

    def verdict_on(self, name):
        """What one of its explanations is worth."""
        everywhere, vague, if_triggered, vague_if_triggered = self.agreement[name]
        if everywhere >= RIGHT:
            return Verdict.VAGUE if vague > VAGUE else Verdict.RIGHT
        if if_triggered >= RIGHT:
            return Verdict.VAGUE if vague_if_triggered > VAGUE else Verdict.RIGHT_IF_TRIGGERED
        return Verdict.WRONG


def findings(run):
    """The findings of a run directory, in the order of the cases that showed them first."""
    read = [json.loads(path.read_text()) | {"name": path.parent.name} for path in run.glob("findings/*/finding.json")]
    read.sort(key=lambda finding: ((finding["provenance"] or {}).get("index", 0), finding["name"]))
    return [_finding(finding) for finding in read]


def _finding(read):
    diagnoses = [divergence.get("diagnosis") or {} for divergence in read["divergences"]]
    sentences = [explanation["change"] for diagnosis in diagnoses for explanation in diagnosis.get("explanations", [])]
    operators = re.findall(r"(?:^|; (?:\w+ = )?)(\w+)", read["graph"])
    others = [operator for operator in operators if operator not in BESIDE]
    elements = read["after"]["input_elements"] + read["after"]["initializer_elements"]
    return Finding(read["name"], read["kind"], read["diagnosis"], list(dict.fromkeys(sentences)), read.get("trigger"), elements,
                   max(len(others) - 1, 0), (read["provenance"] or {}).get("index", 0))
