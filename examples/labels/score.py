"""How many labels of a batch are as a person gave them: python score.py texts.jsonl labels.jsonl"""

import json
import sys
from collections import Counter
from pathlib import Path


def lines(path: str) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


texts, records = sys.argv[1:]
wanted = {row["id"]: row for row in lines(texts)}
right: Counter[str] = Counter()
outcomes: Counter[str] = Counter()
whole = 0
for record in lines(records):
    outcomes[record["outcome"]] += 1
    found, label = record["output"] or {}, wanted[record["key"]]["label"]
    same = {field: found.get(field) == value for field, value in label.items()}
    right.update(field for field, is_same in same.items() if is_same)
    whole += all(same.values())
    if not all(same.values()):
        wrong = ", ".join(f"{f} {found.get(f)} instead of {label[f]}" for f, is_same in same.items() if not is_same)
        print(f"{record['key']}: {wrong}: {wanted[record['key']]['text'][:90]}")
print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()))
for field in ("kind", "language", "severity"):
    print(f"{field:9} {right[field]:3} of {len(wanted)} right")
print(f"all three {whole:3} of {len(wanted)} right")
