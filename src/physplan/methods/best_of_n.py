"""Of several videos of the model alone the best: what guidance must beat at equal time."""

from physplan.methods.method import Method

BEST_OF_N = Method(
    name="best_of_n", about="of N unguided videos the best, by verdict, surprise or a judge", chooses=True
)
