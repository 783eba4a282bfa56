"""Small apps to copy from."""
