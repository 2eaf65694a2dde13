"""How often each promise of the table was broken, against how often it may be."""

import csv
import io
from pathlib import Path

import matplotlib.pyplot as plt

folder = Path(__file__).parent if "__file__" in globals() else Path()
page = folder.resolve().parent / "guide" / "validity.rst"
lines = [
    line.strip()
    for line in page.read_text(encoding="utf-8").splitlines()
    if line.startswith('   "')
]
colors = {"holds": "#0072B2", "fails": "#000000", "out of scope": "#D55E00"}
labels = {
    "holds": "promised",
    "fails": "promised, and broken too often",
    "out of scope": "what is not promised (and said so)",
}
figure, ax = plt.subplots(figsize=(7, 3.6))
drawn = set()
for number, row in enumerate(
    csv.reader(io.StringIO("\n".join(lines)), skipinitialspace=True)
):
    _, _, nominal, measured, interval, _, verdict = (cell.strip() for cell in row[:7])
    if nominal != "0.05":
        continue
    low, high = (float(end) for end in interval.split(" to "))
    color = colors[verdict]
    ax.plot([number, number], [low, high], color=color, lw=1)
    label = None if verdict in drawn else labels[verdict]
    ax.plot(number, float(measured), "o", ms=2.5, color=color, label=label)
    drawn.add(verdict)
ax.axhline(0.05, color="0.3", lw=1)
ax.text(0, 0.055, "what is allowed", color="0.3", size="small")
ax.set_yscale("symlog", linthresh=0.1)
ax.set(
    xlabel="row of the tables below",
    ylabel="share of experiments in which\nthe promise was broken",
    ylim=(-0.003, 1.3),
    yticks=[0, 0.05, 0.1, 0.5, 1],
    yticklabels=["0", ".05", ".1", ".5", "1"],
)
ax.minorticks_off()
ax.legend(loc="upper left", fontsize="small")
