"More than one process"
