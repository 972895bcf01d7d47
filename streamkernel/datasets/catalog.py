"""Every table: its columns, the addresses it is published at, and the checksums it must have.

`sha256` of an original is the checksum of the file itself, given where it is known: for the files that Python packages
also ship (measured on the packages) and for the one whose checksum another open project publishes (Concrete).
For the rest none is published. There, as for every source, `digest` is the checksum of the content once parsed (see
`files.digest`), so all sources of a table give the same arrays or an error. LIBSVM may print space_ga with fewer digits
than a digest needs, so there `means`, the mean of each column, is compared instead.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from streamkernel.datasets.fetch import Original, Packaged
from streamkernel.datasets.parse import Delimited, Parser, arff, libsvm, npy_series, ripley

__all__ = ["TABLES", "Entry"]


@dataclass(frozen=True)
class Entry:
    """One table: what it holds, where it is published, how the publication is read, and what it must amount to."""

    columns: tuple[str, ...]
    target: str
    n_samples: int
    originals: tuple[Original, ...]
    parse: Parser
    digest: str | None = None
    means: tuple[float, ...] | None = None
    packaged: tuple[tuple[Packaged, Parser], ...] = ()
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    positive: str | None = None  # the class that is True; None for a regression
    n_classes: int | None = None  # of a target that is one of several classes 0, 1, ...; None for any other

    @functools.cached_property
    def features(self) -> tuple[str, ...]:
        """The names after one-hot encoding, as river's OneHotEncoder would give them."""
        return tuple(
            feature
            for name in self.columns
            for feature in ([f"{name}_{level}" for level in self.levels[name]] if name in self.levels else [name])
        )


UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression"

WINE_COLUMNS = (
    "fixed_acidity",
    "volatile_acidity",
    "citric_acid",
    "residual_sugar",
    "chlorides",
    "free_sulfur_dioxide",
    "total_sulfur_dioxide",
    "density",
    "pH",
    "sulphates",
    "alcohol",
)
# Of the nuclei of cells, `concativity` spelled as published.
CELL_MEASURES = (
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concativity",
    "concave_points",
    "symmetry",
    "fractal_dimension",
)

TABLES = {
    "abalone": Entry(
        columns=(
            "sex",
            "length",
            "diameter",
            "height",
            "whole_weight",
            "shucked_weight",
            "viscera_weight",
            "shell_weight",
        ),
        target="rings",
        n_samples=4177,
        originals=(Original(f"{UCI}/abalone/abalone.data", "abalone.data"),),
        parse=Delimited(tuple(range(9))),
        digest="66b5c6ea391c3df5f9453ef9e9a3b438350b622795616f12fc374fe03966532f",
        levels={"sex": ("F", "I", "M")},
    ),
    "auto-mpg": Entry(
        columns=("cylinders", "displacement", "horsepower", "weight", "acceleration", "model_year", "origin"),
        target="mpg",
        n_samples=392,
        originals=(Original(f"{UCI}/auto-mpg/auto-mpg.data", "auto-mpg.data"),),
        parse=Delimited((1, 2, 3, 4, 5, 6, 7, 0), delimiter=None),
        digest="61bcfd0ca12c9e25ffd54f8c4b0c814ce2b0c86d281f8aa0a7a72f28b4b5a353",
        packaged=((Packaged("mlxtend", "data/data/autompg.csv.gz"), Delimited((0, 1, 2, 3, 4, 5, 6, 8))),),
    ),
    "auto-price": Entry(
        columns=(
            "symboling",
            "normalized-losses",
            "wheel-base",
            "length",
            "width",
            "height",
            "curb-weight",
            "engine-size",
            "bore",
            "stroke",
            "compression-ratio",
            "horsepower",
            "peak-rpm",
            "city-mpg",
            "highway-mpg",
        ),
        target="class",
        n_samples=159,
        originals=(Original(f"{UCI}/autos/imports-85.data", "imports-85.data"),),
        parse=Delimited((0, 1, *range(9, 14), 16, *range(18, 26))),
        digest="4942eaa485c507207720e83599210296404b48c8559ce18c21e9cbb85de0e7fa",
    ),
    "boston": Entry(
        columns=("CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT"),
        target="MEDV",
        n_samples=506,
        originals=(
            Original(
                "https://raw.githubusercontent.com/rasbt/mlxtend/master/mlxtend/data/data/boston_housing.csv",
                "boston_housing.csv",
                "8594f084258ead302f20a7479463f7a7584d33fe00042d442a7101530c8b46de",
            ),
        ),
        parse=Delimited(tuple(range(14))),
        digest="43ff1aeb232cf88a0fca8e7f1e19bfbda505b4150e4e7eea97e7b39e7ead3216",
        packaged=((Packaged("mlxtend", "data/data/boston_housing.csv"), Delimited(tuple(range(14)))),),
    ),
    "concrete": Entry(
        columns=(
            "Cement",
            "BlastFurnaceSlag",
            "FlyAsh",
            "Water",
            "Superplasticizer",
            "CoarseAggregate",
            "FineAggregate",
            "Age",
        ),
        target="target",
        n_samples=1030,
        originals=(
            Original(
                "https://archive.ics.uci.edu/static/public/165/data.csv",
                "concrete-uci.csv",
                "8d4b15b6fc68cd932d745cbd663d5ceae66dd54422e99c1e4865f2936ab7e2af",
            ),
        ),
        parse=Delimited(tuple(range(9)), header=True),
        digest="0b1aca0a829111596ce3ee5f841fd02e0dc433d770f0508fd6cff2984b955a6c",
    ),
    "cpu-performance": Entry(
        columns=("MYCT", "MMIN", "MMAX", "CACH", "CHMIN", "CHMAX"),
        target="class",
        n_samples=209,
        originals=(Original(f"{UCI}/cpu-performance/machine.data", "machine.data"),),
        parse=Delimited(tuple(range(2, 9))),
        digest="521cc99df68f3ea37c1cedd40f4b2e49e02815f2321b64c2641c59a8dbcfd9cd",
    ),
    "cpu-small": Entry(
        columns=(
            "lread",
            "lwrite",
            "scall",
            "sread",
            "swrite",
            "fork",
            "exec",
            "rchar",
            "wchar",
            "runqsz",
            "freemem",
            "freeswap",
        ),
        target="usr",
        n_samples=8192,
        originals=(Original(f"{LIBSVM}/cpusmall", "cpusmall"),),
        parse=libsvm,
        digest="b738012636e88b5b584a0292734a1b91d39afcd5608857e8c7034f141e2334e9",
    ),
    "digits": Entry(
        columns=tuple(f"pixel_{row}_{column}" for row in range(8) for column in range(8)),
        target="digit",
        n_samples=1797,
        originals=(Original(f"{UCI}/optdigits/optdigits.tes", "optdigits.tes"),),
        parse=Delimited(tuple(range(65))),
        digest="617a2d693c1f7614b43617b3b3b6bb74609ab5d2a79576608bcb08407c8c45ab",
        packaged=((Packaged("sklearn", "datasets/data/digits.csv.gz"), Delimited(tuple(range(65)))),),
        n_classes=10,
    ),
    "german-credit": Entry(
        columns=(
            "checking_status",
            "duration",
            "credit_history",
            "purpose",
            "credit_amount",
            "savings_status",
            "employment",
            "installment_commitment",
            "personal_status",
            "other_parties",
            "residence_since",
            "property_magnitude",
            "age",
            "other_payment_plans",
            "housing",
            "existing_credits",
            "job",
            "num_dependents",
            "own_telephone",
            "foreign_worker",
        ),
        target="class",
        n_samples=1000,
        originals=(
            Original("https://www.openml.org/data/download/31/dataset_31_credit-g.arff", "dataset_31_credit-g.arff"),
        ),
        parse=arff,
        digest="b695240acc06248df322f485100705dd6a9ff822092589a9b452fc62bec0b15c",
        levels={
            "checking_status": ("0<=X<200", "<0", ">=200", "no checking"),
            "credit_history": (
                "all paid",
                "critical/other existing credit",
                "delayed previously",
                "existing paid",
                "no credits/all paid",
            ),
            "purpose": (
                "business",
                "domestic appliance",
                "education",
                "furniture/equipment",
                "new car",
                "other",
                "radio/tv",
                "repairs",
                "retraining",
                "used car",
            ),
            "savings_status": ("100<=X<500", "500<=X<1000", "<100", ">=1000", "no known savings"),
            "employment": ("1<=X<4", "4<=X<7", "<1", ">=7", "unemployed"),
            "personal_status": ("female div/dep/mar", "male div/sep", "male mar/wid", "male single"),
            "other_parties": ("co applicant", "guarantor", "none"),
            "property_magnitude": ("car", "life insurance", "no known property", "real estate"),
            "other_payment_plans": ("bank", "none", "stores"),
            "housing": ("for free", "own", "rent"),
            "job": ("high qualif/self emp/mgmt", "skilled", "unemp/unskilled non res", "unskilled resident"),
            "own_telephone": ("none", "yes"),
            "foreign_worker": ("no", "yes"),
        },
        positive="bad",
    ),
    "liver-disorders": Entry(
        columns=("mcv", "alkphos", "sgpt", "sgot", "gammagt", "drinks"),
        target="selector",
        n_samples=345,
        originals=(Original(f"{UCI}/liver-disorders/bupa.data", "bupa.data"),),
        parse=Delimited(tuple(range(7))),
        digest="2a41a915ad3f803f8e4d4183c9c814b00fccc9e2824c40ceb2fdca1576589313",
        positive="2",
    ),
    "mg": Entry(
        columns=("x1", "x2", "x3", "x4", "x5", "x6"),
        target="y",
        n_samples=1385,
        originals=(Original(f"{LIBSVM}/mg", "mg"),),
        parse=libsvm,
        digest="c8f09f654426c69c9721b2f92926483d24d203af7c36298249db331f0b17a4a3",
    ),
    "pima-diabetes": Entry(
        columns=("preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age"),
        target="class",
        n_samples=768,
        originals=(
            Original("https://www.openml.org/data/download/37/dataset_37_diabetes.arff", "dataset_37_diabetes.arff"),
        ),
        parse=arff,
        digest="bc722e1057dd24c017f82b220bfa9a44b1c9f0455d7d6a5ad856ce68efbb0c68",
        positive="tested_positive",
    ),
    "ripley": Entry(
        columns=("xs", "ys"),
        target="yc",
        n_samples=1250,
        originals=(
            Original("https://www.stats.ox.ac.uk/pub/PRNN/synth.tr", "synth.tr"),
            Original("https://www.stats.ox.ac.uk/pub/PRNN/synth.te", "synth.te"),
        ),
        parse=ripley,
        digest="a8228521d61ddf119c08063040cfa9afa972f9cfbb7a65e783f00f756f76a2ca",
        positive="1",
    ),
    "santafe": Entry(
        columns=(),
        target="y",
        n_samples=10093,
        originals=(
            Original(
                "https://raw.githubusercontent.com/reservoirpy/reservoirpy/master/reservoirpy/datasets/santafe_laser.npy",
                "santafe_laser.npy",
                "8c07281200935596f8e28bc94e1bb25e9964ab7d7f63c5e27ac87b810ac3b33a",
            ),
        ),
        parse=npy_series,
        digest="ce5fd25bf0b5bb8b97a96d57050cade2f460610eb01b1542858b0eda479075d4",
        packaged=((Packaged("reservoirpy", "datasets/santafe_laser.npy"), npy_series),),
    ),
    "servo": Entry(
        columns=("motor", "screw", "pgain", "vgain"),
        target="rise_time",
        n_samples=167,
        originals=(Original(f"{UCI}/servo/servo.data", "servo.data"),),
        parse=Delimited(tuple(range(5))),
        digest="6776d8fbeaae611eebde16bd2a320aebd395ed9a64c7c672a8f81fbae1a6e969",
        levels={"motor": ("A", "B", "C", "D", "E"), "screw": ("A", "B", "C", "D", "E")},
    ),
    "space-ga": Entry(
        columns=("POP", "EDUCATION", "HOUSES", "INCOME", "XCOORD", "YCOORD"),
        target="target",
        n_samples=3107,
        originals=(Original(f"{LIBSVM}/space_ga", "space_ga"),),
        parse=libsvm,
        means=(9.756578098, 9.020749047, 8.738303983, 11.88516069, -91638847.15, 38281091.62, -0.5762341333),
    ),
    "winequality-red": Entry(
        columns=WINE_COLUMNS,
        target="quality",
        n_samples=1599,
        originals=(Original(f"{UCI}/wine-quality/winequality-red.csv", "winequality-red-uci.csv"),),
        parse=Delimited(tuple(range(12)), delimiter=";", header=True),
        digest="3d896dae439e4e4173e4a4b4d1cbbc369a42df343cafbfaf0271cc764190569c",
    ),
    "winequality-white": Entry(
        columns=WINE_COLUMNS,
        target="quality",
        n_samples=4898,
        originals=(Original(f"{UCI}/wine-quality/winequality-white.csv", "winequality-white-uci.csv"),),
        parse=Delimited(tuple(range(12)), delimiter=";", header=True),
        digest="1a6b3210b32781812d3292c0ed7e065f7776cef55d10fe3f0d06ede8fc7ab3ba",
    ),
    "wpbc": Entry(
        columns=(
            *(f"{measure}_{summary}" for summary in ("mean", "se", "worst") for measure in CELL_MEASURES),
            "tumor_size",
            "lymph_node_status",
        ),
        target="time",
        n_samples=194,
        originals=(Original(f"{UCI}/breast-cancer-wisconsin/wpbc.data", "wpbc.data"),),
        parse=Delimited((*range(3, 35), 2)),
        digest="a315764a715933cf70738943c9cc20dc3dece23da5728c197052f1401e998bae",
    ),
}
