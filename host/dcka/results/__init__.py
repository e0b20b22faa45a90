"""Results, as numpy has them."""
