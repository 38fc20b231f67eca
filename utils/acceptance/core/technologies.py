"""The technologies of interconnects, in the words of `extras["fabric"]` and of `systems.csv`."""

#: `fabric/rates.py` says what is known of each one; those that are not there have no formula.
TECHNOLOGIES = (
    "infiniband",
    "ethernet",
    "omni-path",
    "slingshot",
    "roce",
    "myrinet",
    "numalink",
    "cray",
    "ixs",
)
