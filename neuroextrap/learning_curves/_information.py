"""Information in bits from predicted probabilities, and its regularization."""

import numpy as np


def _class_numbers(y, classes, n_classes):
    """Column number of every label."""
    y = np.asarray(y)
    if classes is None:
        if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= n_classes:
            raise ValueError(
                f"y must hold column numbers 0..{n_classes - 1} when classes is None; "
                "pass classes=... to use labels."
            )
        return y
    classes = np.asarray(classes)
    if len(classes) != n_classes:
        raise ValueError(
            f"{len(classes)} classes given for probabilities of {n_classes} columns."
        )
    order = np.argsort(classes)
    found = np.searchsorted(classes, y, sorter=order).clip(max=n_classes - 1)
    codes = order[found]
    unknown = classes[codes] != y
    if unknown.any():
        raise ValueError(
            f"y holds the label {y[unknown].tolist()[0]!r}, absent from classes "
            f"{classes.tolist()}."
        )
    return codes


def check_priors(priors, n_classes):
    """Return class probabilities as an array, or say what is wrong with them.

    Parameters
    ----------
    priors : array of shape (n_classes,)
        Known class probabilities.
    n_classes : int
        How many there must be.

    Returns
    -------
    ndarray of shape (n_classes,)
        The same numbers in float64.

    Raises
    ------
    ValueError
        Wrong shape, a probability that is not positive, or a sum other than one.
    """
    priors = np.asarray(priors, dtype=np.float64)
    if priors.shape != (n_classes,):
        raise ValueError(
            f"priors of shape {priors.shape} given; {n_classes} classes need shape "
            f"({n_classes},)."
        )
    if not (np.all(priors > 0) and abs(priors.sum() - 1) < 1e-8):
        raise ValueError(
            f"priors must be positive and sum to 1; got {priors.tolist()}."
        )
    return priors


def label_entropy(priors, *, base=2):
    """Entropy of the labels, the most that predictions can tell about them.

    Parameters
    ----------
    priors : array of shape (n_classes,)
        Class probabilities p(g).
    base : float
        Base of the logarithm; 2 gives bits.

    Returns
    -------
    float
        ``-sum p(g) log p(g)``.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, eq. 12.

    Examples
    --------
    >>> from neuroextrap.learning_curves import label_entropy
    >>> label_entropy([0.25, 0.25, 0.5])
    1.5
    """
    priors = check_priors(priors, np.size(priors))
    return float(-np.sum(priors * np.log(priors)) / np.log(base))


def prediction_information(
    probabilities, y, *, priors, classes=None, log=False, base=2
):
    """Mutual information of labels and predictions, from predicted probabilities.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Predicted probability p(g|x) of every class for every test sample.
    y : array of shape (n_samples,)
        True labels: column numbers, or members of ``classes``.
    priors : array of shape (n_classes,)
        Known class probabilities p(g).
    classes : array of shape (n_classes,), optional
        Label of every column.
    log : bool
        Whether ``probabilities`` are natural logarithms.
    base : float
        Base of the result's logarithm; 2 gives bits.

    Returns
    -------
    float
        Mean of ``log p(g|x) / p(g)`` over the samples. A true class that was given
        probability zero makes it minus infinity: regularize the predictions.

    Raises
    ------
    ValueError
        Shapes that do not fit, unknown labels, priors that are no probabilities.

    Notes
    -----
    At most the label entropy when the labels occur as often as ``priors`` say, and
    unbounded below. Negative information together with an error rate below that of
    guessing the most common label means overfitting: the classifier picks the right
    label often, but is far too sure when it is wrong.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, eqs. 9-11.

    Examples
    --------
    >>> from neuroextrap.learning_curves import prediction_information
    >>> probabilities = [[0.5, 0.5], [1.0, 0.0]]
    >>> prediction_information(probabilities, [1, 0], priors=[0.5, 0.5])
    0.5
    """
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if probabilities.ndim != 2 or len(probabilities) != len(y):
        raise ValueError(
            f"probabilities of shape {probabilities.shape} given for {len(y)} labels; "
            "needed: one row a label, one column a class."
        )
    priors = check_priors(priors, probabilities.shape[1])
    codes = _class_numbers(y, classes, len(priors))
    with np.errstate(divide="ignore"):
        logs = probabilities if log else np.log(probabilities)
    return float(np.mean(log_ratio(logs, codes, priors)) / np.log(base))


def log_ratio(log_posterior, codes, priors):
    """Log p(g|x) / p(g) of the true class of every sample, natural logarithm.

    Parameters
    ----------
    log_posterior : ndarray of shape (n_samples, n_classes)
        Natural logarithms of p(g|x).
    codes : ndarray of shape (n_samples,)
        True class numbers.
    priors : ndarray of shape (n_classes,)
        Class probabilities.

    Returns
    -------
    ndarray of shape (n_samples,)
        In nats.
    """
    return log_posterior[np.arange(len(codes)), codes] - np.log(priors)[codes]


def macroscopic_log_posterior(log_likelihood, priors):
    """Turn a microscopic model p(x|g) into a macroscopic one p(g|x) by Bayes' rule.

    Parameters
    ----------
    log_likelihood : array of shape (n_samples, n_classes)
        Log density of every sample under every class, natural logarithm.
    priors : array of shape (n_classes,)
        Known class probabilities p(g).

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Log p(g|x), natural logarithm.

    Raises
    ------
    ValueError
        Priors that are no probabilities.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, eq. 2.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.learning_curves._information import macroscopic_log_posterior
    >>> log_likelihood = np.array([[-1e5, -1e5 + np.log(3)]])
    >>> np.exp(macroscopic_log_posterior(log_likelihood, [0.5, 0.5])).round(6)
    array([[0.25, 0.75]])
    """
    from scipy.special import log_softmax

    log_likelihood = np.asarray(log_likelihood, dtype=np.float64)
    priors = check_priors(priors, log_likelihood.shape[-1])
    return log_softmax(log_likelihood + np.log(priors), axis=-1)


def shrink_to_prior(probabilities, priors, weight):
    """Mix predictions with the prior: ``(1 - e) p(g|x) + e p(g)``.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Predicted probabilities p(g|x).
    priors : array of shape (n_classes,)
        Known class probabilities p(g).
    weight : float
        The e of the formula, between 0 (predictions unchanged) and 1 (the prior,
        no information).

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Every sample then contributes at least ``log2(e)`` bits.

    Raises
    ------
    ValueError
        A weight outside 0..1, or priors that are no probabilities.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, the paragraph before eq. 12.

    Examples
    --------
    >>> from neuroextrap.learning_curves import shrink_to_prior
    >>> shrink_to_prior([[1.0, 0.0]], [0.5, 0.5], 0.2)
    array([[0.9, 0.1]])
    """
    if not 0 <= weight <= 1:
        raise ValueError(f"weight={weight!r} must lie between 0 and 1.")
    probabilities = np.asarray(probabilities, dtype=np.float64)
    priors = check_priors(priors, probabilities.shape[-1])
    return (1 - weight) * probabilities + weight * priors


def prior_weight(probabilities, y, *, priors, classes=None):
    """Weight e of the prior that makes the predictions most informative.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Predicted probabilities of samples that did not train the model: choose e on
        predictions cross-validated inside the training set, never on the test set.
    y : array of shape (n_samples,)
        True labels: column numbers, or members of ``classes``.
    priors : array of shape (n_classes,)
        Known class probabilities p(g).
    classes : array of shape (n_classes,), optional
        Label of every column.

    Returns
    -------
    float
        The e in 0..1 that maximizes the mean of ``log ((1 - e) p(g|x) / p(g) + e)``,
        a concave function. On these same samples the information is then at least
        zero; on new ones it is slightly negative when there is nothing to tell.

    Raises
    ------
    ValueError
        Unknown labels, or priors that are no probabilities.

    References
    ----------
    Kjems et al. 2002, NeuroImage 15, the paragraph before eq. 12.

    Examples
    --------
    >>> from neuroextrap.learning_curves import prior_weight
    >>> overconfident = [[0.99, 0.01], [0.99, 0.01], [0.99, 0.01], [0.99, 0.01]]
    >>> prior_weight(overconfident, [0, 0, 0, 1], priors=[0.5, 0.5])
    0.489796
    """
    probabilities = np.asarray(probabilities, dtype=np.float64)
    priors = check_priors(priors, probabilities.shape[-1])
    codes = _class_numbers(y, classes, len(priors))
    ratio = probabilities[np.arange(len(codes)), codes] / priors[codes]
    return best_prior_weight(ratio)


def best_prior_weight(ratio):
    """Maximize ``mean log((1 - e) ratio + e)`` over e in 0..1 by bisection.

    Parameters
    ----------
    ratio : ndarray of shape (n_samples,)
        p(g|x) / p(g) of the true classes.

    Returns
    -------
    float
        The maximizer.
    """

    def slope(weight):
        return np.mean((1 - ratio) / ((1 - weight) * ratio + weight))

    if ratio.mean() <= 1:
        return 1.0
    with np.errstate(over="ignore", divide="ignore"):  # an infinite slope is right
        if slope(0.0) <= 0:
            return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return 0.5 * (low + high)
