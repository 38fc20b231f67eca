"""What a fabric can do by its stated facts, and what the links of a node say of themselves."""
