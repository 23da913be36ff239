"""How fast a revision's code runs on the GPU of this machine: launching bundles, measuring, recording.

Needs a driver, torch and cuda-core, and never the revision's Triton.
"""
