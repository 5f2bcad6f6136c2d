"""What this build is and what it runs on."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

try:
    __version__ = version("tonari")
except PackageNotFoundError:  # a source tree on the path, not installed
    __version__ = "0.1.0"


def show_config() -> dict[str, Any]:
    """Version, instruction set in use, processor, compiler and threads of this installation.

    The environment variable ``TONARI_ISA`` (generic, v2, v3, v4, v4_vnni) forces an instruction set before first use.

    Returns
    -------
    dict
        Keys ``tonari``, ``isa``, ``isa_available``, ``cpu``, ``avx512_vnni``, ``avx512_bf16``, ``avx512_vpopcntdq``,
        ``compiler`` and ``threads`` (what ``n_jobs=None`` means here).

    Examples
    --------
    >>> import tonari
    >>> tonari.show_config()["isa"] in ("generic", "v2", "v3", "v4", "v4_vnni")
    True
    """
    from tonari import _core
    from tonari.base.threads import thread_count

    return {"tonari": __version__, **_core.config_show(), "threads": thread_count(None)}
