"""Loaded by asv itself (`plugins` of asv.conf.json): tells asv's build step where attnkern is, sees to the history,
and brings our pages and a safe way of publishing.

asv runs the build step with the benchmarking environment's Python, which has neither attnkern nor its
dependencies; the Python that runs asv has both.
"""

from __future__ import annotations

import os
import sys

from attnkern import suite
from attnkern.errors import UserError
from attnkern.home import CHECKOUT
from attnkern.revisions import history
from attnkern.site import safely
from attnkern.site.publisher import Findings

__all__ = ["Findings"]  # asv finds it as a subclass of its OutputPublisher

os.environ["ATTNKERN_PYTHON"] = sys.executable

try:
    suite.check_home()
    # The history is made from the lock file where there is none yet.
    safely.install({revision.commit for revision in history.revisions()})
    # asv leaves an installed commit as it is, but a bundle may have grown by a case since: have it installed again.
    for status in (CHECKOUT / ".asv" / "env").glob("*/asv-install-status.json"):
        status.unlink(missing_ok=True)
except UserError as error:
    sys.exit(f"attnkern: {error}")
