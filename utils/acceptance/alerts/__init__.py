"""Each alert is sent once, and its end once, to every target; who acknowledged what."""
