"The loop itself"
