"""What a node says about itself: log, diagnostics, refusals, rates."""
