"""How alerts are told: state, messages, targets, and what waits for them."""
