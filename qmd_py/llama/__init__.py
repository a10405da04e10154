"""The Protocols of `models` on GGUF files, through llama.cpp."""
