"""Which compilers there are, and how one becomes an importable Triton on this machine."""
