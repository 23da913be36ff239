"""What people look at: the pages of findings and revisions, as part of what `asv publish` makes.

May use everything else; nothing else may use it, but for the plugin that asv loads.
"""
