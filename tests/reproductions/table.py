"""The table of what reproductions do, in Markdown."""
import datetime


def table(results, campaign, commit):
    """The whole document."""
    right = [result for result in results if result.says_what_it_shows()]
    refuted = [result for result in results if 0 in result.elsewhere.values()]
    run, backends = campaign.recorded(), campaign.backends()
    cases, seed, date = run["budget"]["cases"], run["seed"], datetime.date.fromtimestamp(run["started"])
    rows = "\n".join(_row(result) for result in results)
    return f"""# Reproductions

The folders that `twinfer repro` writes for all findings of a campaign, tried without twinfer: what the page names is installed in a
new Python environment, and the commands of the page are run. {cases:,} cases of all families, seed {seed}, twinfer {commit}, {date},
`--backends {backends}`. Written by

```
tests/reproductions/measure.py --out target/reproductions --cases {cases} --seed {seed} --table docs/generated/reproductions.md
```

| over all findings | |
| --- | ---: |
| reproductions that do what they say | {len(right)} of {len(results)} |
| that do not show the bug on a variant that conforms | {len(refuted)} |

*Page*: the exit status of each command on the page, 1 where the bug shows. *Golden*: the status where golden's values stand in for those of the
backend, and a refusal for what ONNX forbids; 0 where the bug does not show. *Elsewhere*: the status with each variant of the campaign that
twinfer says conforms on this case; 0, or 2 if a machine without a GPU cannot tell.

| finding | kind | page | golden | elsewhere |
| --- | --- | ---: | ---: | --- |
{rows}
"""


def _row(result):
    kind = f"{result.kind}, documented" if result.documented else result.kind
    statuses = ", ".join(str(status) for status in result.shown.values()) or "no command"
    elsewhere = ", ".join(f"`{variant}` {status}" for variant, status in result.elsewhere.items()) or "-"
    return f"| {result.finding} | {kind} | {statuses} | {result.with_golden} | {elsewhere} |"
