"""MMBench as its own note uses it: a dataset by position, and the file of predictions.

from eyechart.compat.mmbench import MMBenchDataset, dump_submission
data = MMBenchDataset("mmbench_dev_20230712.tsv")
dump_submission(({**one, "prediction": ask(one)} for one in data), "submission.xlsx")

Neither pandas nor torch is needed. If torch was imported before, the dataset is a torch dataset.
"""

from eyechart.errors import NO_ANSWER
from eyechart.pipelines.vlmevalkit.mmbench_note import MMBenchDataset, decode_base64_to_image, dump_submission

__all__ = ["NO_ANSWER", "MMBenchDataset", "decode_base64_to_image", "dump_submission"]
