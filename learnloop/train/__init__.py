"What changes training"
