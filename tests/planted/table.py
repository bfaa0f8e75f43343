"""The table of what twinfer makes of planted bugs, in Markdown."""
from found import Verdict

COLUMNS = ["bug", "operator", "what is wrong", "trigger", "first case", "findings", "right", "right where triggered", "vague", "wrong", "none",
           "precision", "recall", "elements", "nodes", "explanations"]


def table(listed, results, arguments):
    """The whole document."""
    rows = "\n".join(_row(listed[result.bug], result) for result in results)
    return f"""# Planted bugs

What `twinfer fuzz` makes of {len(results)} bugs that nobody picked: each is an edit of one fact of one operator under a trigger, drawn by the
seed of [the list](../../tests/planted/bugs.json) from a description in numpy that knows nothing of golden. One campaign per bug,
{arguments.cases:,} cases of the families of valid graphs, seed {arguments.seed}, twinfer {arguments.commit}. Written by

```
tests/planted/measure.py --out target/planted --cases {arguments.cases} --seed {arguments.seed} --table docs/generated/planted-bugs.md
```

An explanation is *right* if golden, with its mutants applied to the nodes that satisfy the finding's trigger, agrees with the planted evaluation,
within golden's bounds, on at least 99% of 1,000 fresh graphs: 150 at least in which the bug is triggered, up to 150 in which its trigger is just missed,
the rest at random. It is *right where triggered* if that fails, and it agrees where the bug is triggered if it is applied to the nodes that the bug concerns:
what it says is right, and the trigger is not. Of several alternatives the best counts. Otherwise it is *wrong*. It is *vague* if it agrees, but in more
than 1% of the graphs only because its bound is so wide that it holds right values as well where the bug shows. *None*: no explanation.

{summary(listed, results)}

The trigger that a finding states is tried on up to 300 fresh graphs in which the bug's own trigger holds and the output is wrong, and on up to
300 in which all conditions of the bug's own trigger but one hold. *Recall* is the share of the former that satisfies the trigger, *precision* the share of
the former among all that do. The table shows those of the finding whose lesser figure is largest.

The column *first case* is the number of the case that showed the bug first. *Elements* is the largest number of elements of inputs and
initializers of the minimal cases, *nodes* the largest number of their nodes beyond one operator and quantizers. *Explanations* are the
mutants that findings name, right ones in bold, those that are right where triggered in italics.

| {" | ".join(COLUMNS)} |
| ---: | --- | --- | --- |{" ---: |" * (len(COLUMNS) - 5)} --- |
{rows}
"""


def summary(listed, results):
    """The figures over all bugs."""
    shown = [result for result in results if result.findings]
    findings = [finding for result in results for finding in result.findings]
    counts = [len(result.findings) for result in shown]
    verdict = {verdict: sum(finding.verdict is verdict for finding in findings) for verdict in Verdict}
    has = lambda result, *verdicts: any(finding.verdict in verdicts for finding in result.findings)
    right = [result for result in shown if has(result, Verdict.RIGHT)]
    if_triggered = [result for result in shown if has(result, Verdict.RIGHT, Verdict.RIGHT_IF_TRIGGERED)]
    only = [result for result in if_triggered if not has(result, Verdict.WRONG)]
    share = lambda part, whole: f"{part} of {whole} ({part / whole:.0%})" if whole else "none"
    firsts = [min(finding.first for finding in result.findings) for result in shown]
    rows = {
        "bugs found": share(len(shown), len(results)),
        "first case that shows a bug: median, 95th percentile": f"{_at(firsts, 50)}, {_at(firsts, 95)}",
        "findings": f"{len(findings)}",
        "findings per found bug: median, 95th percentile, most": f"{_at(counts, 50)}, {_at(counts, 95)}, {max(counts, default=0)}",
        "findings with a right explanation": share(verdict[Verdict.RIGHT], len(findings)),
        "findings with one that is right where the bug is triggered": share(verdict[Verdict.RIGHT_IF_TRIGGERED], len(findings)),
        "findings with a vague explanation": share(verdict[Verdict.VAGUE], len(findings)),
        "findings with a wrong explanation": share(verdict[Verdict.WRONG], len(findings)),
        "findings without an explanation": share(verdict[Verdict.NONE], len(findings)),
        "found bugs with a right explanation": share(len(right), len(shown)),
        "found bugs with one that is right at least where triggered": share(len(if_triggered), len(shown)),
        "of these, bugs without a wrong one beside it": share(len(only), len(shown)),
        "findings with a trigger": share(sum(finding.trigger is not None for finding in findings), len(findings)),
        "found bugs with a trigger": share(sum(any(finding.trigger for finding in result.findings) for result in shown), len(shown)),
        "found bugs with a trigger of precision and recall ≥ 0.98": share(
            sum(any(finding.is_exactly_triggered for finding in result.findings) for result in shown), len(shown)),
        "elements of minimal cases: median, 95th percentile, most": _three([finding.elements for finding in findings]),
        "nodes beyond operator and quantizers: median, 95th percentile, most": _three([finding.nodes for finding in findings]),
        "CPU time of a campaign in seconds: median, 95th percentile, all": "{:.0f}, {:.0f}, {:,.0f}".format(
            _at([result.seconds for result in results], 50), _at([result.seconds for result in results], 95), sum(result.seconds for result in results)),
    }
    lines = "\n".join(f"| {words} | {figure} |" for words, figure in rows.items())
    return f"| over all bugs | |\n| --- | ---: |\n{lines}\n{_missed(listed, results)}"


def _missed(listed, results):
    """How often the bugs that were not found show in the cases."""
    rows = [f"| {result.bug} | {bug.operator} | {bug.words} | {bug.trigger} | {' | '.join(map(str, result.tally.values()))} |"
            for result in results for bug in [listed[result.bug]] if not result.findings]
    return rows and """
Bugs that were not found, and in how many runs of the campaign's cases they are triggered, change some bit of an output, and change an output by
more than a 32-bit float's rounding:

| bug | operator | what is wrong | trigger | runs | triggered | changed | visible |
| ---: | --- | --- | --- | ---: | ---: | ---: | ---: |
""" + "\n".join(rows) or ""


def _named(findings):
    """The names of explanations, each once, marked by the best verdict on it."""
    marks = {Verdict.RIGHT: "**", Verdict.RIGHT_IF_TRIGGERED: "*"}
    named = {}
    for finding in findings:
        for name in finding.explanations:
            named[name] = finding.verdict_on(name)
    return [f"{marks.get(verdict, '')}{name}{marks.get(verdict, '')}" for name, verdict in named.items()]


def _three(values):
    return f"{_at(values, 50)}, {_at(values, 95)}, {max(values, default=0)}"


def _at(values, percent):
    """The smallest value that so many percent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(-(-len(ordered) * percent // 100) - 1, 0)] if ordered else 0


def _best(findings):
    """Precision and recall of the best trigger."""
    triggered = [(finding.precision, finding.recall) for finding in findings if finding.trigger]
    return [f"{figure:.2f}" for figure in max(triggered, key=min)] if triggered else ["", ""]


def _row(bug, result):
    findings = result.findings
    of = lambda verdict: sum(finding.verdict is verdict for finding in findings)
    cells = [result.bug, bug.operator, bug.words, bug.trigger, min((finding.first for finding in findings), default="not found"), len(findings),
             *map(of, Verdict), *_best(findings), max((finding.elements for finding in findings), default=""), max((finding.nodes for finding in findings), default=""),
             ", ".join(_named(findings))]
    return f"| {' | '.join(map(str, cells))} |"
