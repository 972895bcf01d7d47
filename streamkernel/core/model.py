"""The model as one value: every array and number of a kernel least-squares model by its name.

In the formulas of `whitened`: D the dictionary of m points, L with K_D = LL', w the whitened weights of each target, P
their covariance over the noise variance, z = L⁻¹k(D, x) the whitened sample.
"""

from __future__ import annotations

from .types import Matrix, Program, Vector
from .views import Views

NO_LIMIT = 2**62  # of the dictionary's size


class Model(Views):
    """A kernel least-squares model of one or more targets."""

    # The kernel, for `columns`.
    program: Program
    parameters: Vector

    # State. Matrices are packed (`triangular`), vectors padded with zeros to whole registers.
    points: Matrix
    """D, one row a feature; the place behind the dictionary is the candidate's."""
    factor: Vector
    """L. In the exact form that of K + αR."""
    covariance: Vector
    """P. The exact form has none."""
    noise_covariance: Vector
    """S, of the weights of the logarithm of the noise, where that depends on the input."""
    weights: Matrix
    """w, one row a target; ζ = L⁻¹y in the exact form. Where noise depends on the input the last row is its."""
    reciprocals: Vector
    """1/Lᵢᵢ."""
    pending: Vector
    """p = g/√s, whose product pp' the next sweep subtracts from P."""
    noise_pending: Vector
    """The same for S."""
    coefficient_variances: Vector
    """v, var(α̃ⱼ) over the noise variance, where it is tracked (`variances`); infinite where it is not known."""
    inverse_diagonal: Vector
    """κ, the diagonal of K⁻¹, where v is tracked."""
    similarities: Vector
    """k(xⱼ, xⱼ)."""
    noise_sums: Vector
    """As `noise_sum`, of every target by itself; where there is one alone, not kept."""
    squares: Vector
    """As `target_squares`, likewise."""

    # Workspace.
    projection: Vector
    """z."""
    gain: Vector
    """g = Pz."""
    cosines: Vector
    sines: Vector
    stack: Matrix
    """On which a kernel program is evaluated."""
    column: Vector
    """k(D, x), then k(x, x): the lowest row of the stack."""
    block: Vector
    """Z of `blocks`; these four are empty until a block is worked on."""
    products: Vector
    """V = PZ."""
    rows: Matrix
    """U'. Between blocks the first ones are the updates that `variances` has collected: these are state."""
    innovations: Matrix
    """C, and three rows more."""

    # The sample, as Python packs it.
    inputs: Vector
    """[r, targets..., features...], r the sample's relative noise variance."""
    targets: Vector
    """y, a part of `inputs`."""
    x: Vector
    """The features, a part of `inputs`."""

    # What a call reports.
    means: Vector
    """w'z for every row of the weights."""
    errors: Vector
    """y − w'z before the sample was learned."""
    relative_variance: float
    """u of the sample before it was learned: the function's variance over the noise's."""
    leaving: int
    """Whose place the sample that joined takes, counted from 1: this point is to leave. 0 for nobody's."""

    # Settings.
    threshold: float
    """ν."""
    ridge: float
    """α."""
    forgetting: float
    """λ."""
    forget: int
    """A rule of `forgetting`."""
    max_size: int
    noise_ridge: float
    """α of the logarithm of the noise."""
    noise_cap: float
    """The largest squared standardized error that is believed."""

    # State, the numbers.
    size: int
    """m."""
    trace: float
    """Σ k(xⱼ, xⱼ)."""
    is_pending: int
    """Whether P differs from what it is stored as."""
    pending_scale: float
    pending_diagonal: float
    """P = scale·(stored − pp') + diagonal·I."""
    noise_scale: float
    noise_diagonal: float
    """The same for S."""
    noise_sum: float
    noise_weight: float
    """The noise variance is their ratio."""
    target_squares: float
    """The mean square of the targets."""
    regularized_loss: float
    """Σ e²/(1 + u)."""
    log_determinant: float
    """Σ ln(1 + u)."""
    seen: int
    """How many samples were learned."""
    refused: int
    """How many of them were novel, but not for sure, and took nobody's place: they were not admitted."""
    pruned: int
    """How many points have left."""
    since_joined: int
    """How many samples were learned since one joined."""
    tracked: int
    """Of how many points v and κ are kept."""
    unknown: int
    """How many of these are infinite."""
    caught_up: int
    """Whether what is pending has been taken into v, or collected for it; a step before that ends the tracking."""
    collected: int
    """How many updates of P wait in `rows` to be taken into v."""
    collected_scale: float
    collected_diagonal: float
    """The scale and the diagonal of each."""


class Batch(Views):
    """Samples in order, one row each, and what learning them reports."""

    samples: Matrix
    targets: Matrix
    noise: Vector
    """The relative noise variance of each."""
    means: Matrix
    """The predictions made before each was learned."""
    relative_variances: Vector
    """As `Model.relative_variance`."""
    sizes: Vector
    """The dictionary's size after each."""
