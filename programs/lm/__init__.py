"""Language models: model strings, llama.cpp in process, recordings."""
