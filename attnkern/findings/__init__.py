"""What changed between revisions: series in, findings out.

Pure, but for `records`, `acknowledge` and `commands`, which read and write files.
"""
