"Nothing lost: saving, resuming, stopping"
