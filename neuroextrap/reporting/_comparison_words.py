"""What a comparison of two analyses found, in sentences."""

import numpy as np

from neuroextrap.reporting._compared import DIFFERENCE, LEVEL, P
from neuroextrap.reporting._finding import named_place
from neuroextrap.reporting._rendering import format_p_value, format_percent

_CRITERION = f"family-wise p ≤ {format_p_value(LEVEL)}"


def capitalized(name):
    """Return a name at the beginning of a sentence."""
    return name[:1].upper() + name[1:]


def comparison_verdict(compared, names):
    """Say in one sentence in how many regions which of the two is better."""
    first, second = names
    ahead = compared.scores[DIFFERENCE][compared.survives]
    n_first, n_second = int((ahead > 0).sum()), int((ahead < 0).sum())
    n_regions = int(compared.analyzed.sum())
    many = compared.words[1]
    if not n_first and not n_second:
        if n_regions == 1:
            p_value = np.nanmin(compared.scores[P])
            return (
                f"No difference between {first} and {second} was shown "
                f"(p {format_p_value(p_value)})."
            )
        return (
            f"Nothing survives: in none of {n_regions:,} {many} a difference between "
            f"{first} and {second} was shown ({_CRITERION})."
        )
    better, worse = (first, second) if n_first else (second, first)
    start = f"{capitalized(better)} identifies better than {worse}"
    if n_regions == 1:
        p_value = np.nanmin(compared.scores[P])
        return f"{start} (p {format_p_value(p_value)})."
    counted = f"in {n_first or n_second:,} of {n_regions:,} {many}"
    if n_first and n_second:
        return f"{start} {counted}, and worse in {n_second:,} ({_CRITERION})."
    return f"{start} {counted} ({_CRITERION}), and is nowhere shown to be worse."


def comparison_sentences(compared, names, peaks):
    """Say how large the largest difference is, and what it means if none survives."""
    row = peaks.iloc[0]
    n_regions = int(compared.analyzed.sum())
    where = f" at {named_place(row)}:" if n_regions > 1 else ":"
    p_value = "p" if n_regions == 1 else "family-wise p"
    text = (
        f"{'Largest difference' if n_regions > 1 else 'Accuracies'}{where} "
        f"{format_percent(row['first_accuracy'])} correct with {names[0]}, "
        f"{format_percent(row['second_accuracy'])} with {names[1]} "
        f"({difference_words(row[DIFFERENCE])} percentage points; {p_value} "
        f"{format_p_value(row[P])})."
    )
    sentences = [text]
    if n_regions > 1:
        sentences.append(
            f"As the largest of {n_regions:,} it is too large on average: in new data "
            "expect less."
        )
    if not compared.survives.any():
        sentences.append(_what_nothing_means(compared))
    return sentences


def _what_nothing_means(compared):
    """Say that no difference shown is no equality."""
    smallest = float(np.nanmin(compared.scores[P]))
    return (
        f"The smallest family-wise p is {format_p_value(smallest)}. That does not show "
        "that both are equally good: with few test units even large differences "
        "remain within chance."
    )


def difference_words(proportion):
    """Return a difference of proportions in percentage points, with its sign.

    >>> difference_words(0.2), difference_words(-0.015)
    ('+20', '−1.5')
    """
    points = 100 * proportion
    text = f"{points:+.0f}" if abs(points) >= 10 else f"{points:+.2g}"
    return text.replace("-", "\N{MINUS SIGN}")


def comparison_limits(compared, names):
    """List in sentences what must not be concluded from the page."""
    first, second = names
    many = compared.words[1]
    return [
        f"That {first} and {second} are equally good where nothing is drawn: no "
        "difference shown is not a proof of none.",
        "That the brain uses what the better one reads out: it may fit this signal, "
        "this amount of noise or this number of samples better.",
        "Which would be better with more data or in other people: compared are these "
        "two, trained on these samples.",
        f"That {many} differ from each other: that one difference is significant and "
        "another is not needs a test of its own.",
    ]
