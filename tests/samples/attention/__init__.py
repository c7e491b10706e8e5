"""The attention samples, against attention in numpy's f64."""
