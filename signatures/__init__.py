"""What a model is asked, and the types that travel. No control flow here."""
