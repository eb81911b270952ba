"Loaders and batches, random numbers, and checks of what users give"
