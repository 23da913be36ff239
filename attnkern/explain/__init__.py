"""Why one artifact differs from another: the stage, the pass, whose change it is, what it costs and what avoids it."""
