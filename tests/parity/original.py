"""Runs a script with the released evalscope and ms-vlmeval: python original.py SCRIPT.

ms-vlmeval imports torchvision, whose build on the package index needs CUDA beside the build of torch for
CPUs. It is imported and never called, so that naming the two operators that it looks for is enough.
"""

import runpy
import sys

import torch

library = torch.library.Library("torchvision", "DEF")
for name in ("nms", "qnms"):
    if not hasattr(torch.ops.torchvision, name):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

sys.argv = sys.argv[1:]
sys.path.insert(0, "")
runpy.run_path(sys.argv[0], run_name="__main__")
