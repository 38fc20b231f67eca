"""What subcommands take as values of their options."""

import argparse


def positive(text: str) -> int:
    """Read a whole number above 0, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number
