"Numbers about training"
