"""Two sides compared, sessions, systems or MPIs: ratios with their noise, and what became worse."""

from acceptance.comparison import sides
from acceptance.comparison.compare import CHANCE, NIGHTS, Starts, compare, percent
from acceptance.comparison.model import Comparison, Row, SideFacts, Word
from acceptance.comparison.sides import FORMS, SideFault, read
