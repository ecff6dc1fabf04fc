"""What scripts import from `vlmeval.smp.vlm`."""

from eyechart.pipelines.vlmevalkit.vlmeval.smp import (
    decode_base64_to_image,
    decode_base64_to_image_file,
    encode_image_file_to_base64,
    encode_image_to_base64,
)

__all__ = [
    "decode_base64_to_image",
    "decode_base64_to_image_file",
    "encode_image_file_to_base64",
    "encode_image_to_base64",
]
