"""What all PyTorch operators of the samples share."""
