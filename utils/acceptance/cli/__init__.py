"""The command `acceptance`: a file a subcommand; parses options and prints, decides nothing."""
