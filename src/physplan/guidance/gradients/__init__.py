"""From loss terms to the gradient g of algorithm 1; `exact` is here, others in `extensions/gradients`."""
