"""The asv suite. The environment that runs it has a bundle and no attnkern: the checkout is put on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
