"""llama.cpp itself, by its binding."""

import importlib
import importlib.util
import sys
from types import ModuleType

from qmd_py.errors import ModelFailed

_PACKAGE = "llama_cpp"


def _binding() -> ModuleType:
    """The functions of llama.cpp without the rest of the package.

    What the package imports for chats and servers takes a sixth of a repeated question's time, so
    it is put in place unopened; who imports it afterwards gets the whole of it.
    """
    found = importlib.util.find_spec(_PACKAGE)
    if _PACKAGE in sys.modules or found is None:
        return importlib.import_module(f"{_PACKAGE}.llama_cpp")
    sys.modules[_PACKAGE] = importlib.util.module_from_spec(found)
    try:
        return importlib.import_module(f"{_PACKAGE}.llama_cpp")
    finally:
        del sys.modules[_PACKAGE]


try:
    native = _binding()
except (ImportError, OSError, RuntimeError) as error:  # not built, or for another machine
    raise ModelFailed(
        f"llama.cpp does not run on this machine ({error}): install llama-cpp-python anew"
    ) from error
