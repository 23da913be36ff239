"""What a compiler emits: compiling in its own process, the store of artifacts, bundles, and profiles."""
