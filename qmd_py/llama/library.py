"""llama.cpp itself, by its binding."""

from qmd_py.errors import ModelFailed

try:
    import llama_cpp.llama_cpp as native
except (ImportError, OSError, RuntimeError) as error:  # not built, or for another machine
    raise ModelFailed(
        f"llama.cpp does not run on this machine ({error}): install llama-cpp-python anew"
    ) from error

__all__ = ["native"]
