"""What a fitted analysis does not show, though a reader may think so."""

from neuroextrap.reporting._finding import region_words


def limits(fitted, finding):
    """List in sentences what must not be concluded from the page."""
    one, many = region_words(fitted)
    sentences = [
        "That the brain uses this information: accuracy measures what a classifier "
        "can read out, by whatever property the classes differ (a confound as well).",
        "That a place without color holds no information: weak signals, and patterns "
        "that this classifier cannot use, leave accuracy at chance.",
        "How large the accuracy of a peak is in new data: the peaks were picked as "
        "the largest values, which are too high on average.",
        "What holds for other people: all numbers are of the samples given.",
        f"Which of two {many} has more: a difference between maps needs a test of the "
        "difference, not two separate tests.",
    ]
    if fitted.results_.choice.centers is not None and fitted.masker_ is not None:
        sentences.insert(
            1,
            f"Where exactly the information is: a value belongs to its whole {one} and "
            "is drawn at the center, so that a small source looks as wide as the "
            f"{one}.",
        )
    if not finding.criterion:
        sentences.insert(0, "That anything is above chance: nothing was tested.")
    return sentences
