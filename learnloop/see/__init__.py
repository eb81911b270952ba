"Looking at a run"
