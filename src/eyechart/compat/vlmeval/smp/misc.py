"""What scripts import from `vlmeval.smp.misc`."""

from eyechart.pipelines.vlmevalkit.vlmeval.smp import d2df, istype, listinstr, toliststr

__all__ = ["d2df", "istype", "listinstr", "toliststr"]
