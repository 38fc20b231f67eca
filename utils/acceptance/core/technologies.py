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

_ETHERNET = ("1", "2.5", "5", "10", "25", "40", "50", "100", "200", "400", "800")
#: Technology -> its rates, the slowest one first: words of InfiniBand, Gb/s of a port of others.
#: Slingshot's 100 is that of adapters for it that speak plain Ethernet. Of those that are not there
#: any word may be a rate.
RATES: dict[str, tuple[str, ...]] = {
    "infiniband": (*("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR100", "HDR", "NDR", "XDR"),),
    "ethernet": _ETHERNET,
    "roce": _ETHERNET,
    "omni-path": ("100", "400"),
    "slingshot": ("100", "200", "400"),
}
