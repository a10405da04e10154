"""The Protocols of `models` on GGUF files, through llama.cpp."""

import os

# OpenMP reads this when llama.cpp is loaded. Its threads otherwise spin while they wait for each
# other: on a busy machine that was 2 to 18 times slower, on a quiet one no faster.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
