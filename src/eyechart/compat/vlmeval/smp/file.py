"""What scripts import from `vlmeval.smp.file`."""

from eyechart.pipelines.vlmevalkit.vlmeval.smp import LMUDataRoot, dump, get_intermediate_file_path, load

__all__ = ["LMUDataRoot", "dump", "get_intermediate_file_path", "load"]
