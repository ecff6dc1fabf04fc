"""MMBench as the benchmark's own note uses it: a data set by position, and the file of results to hand in.

from eyechart.compat.mmbench import MMBenchDataset, dump_submission
data = MMBenchDataset("mmbench_dev_20230712.tsv")
dump_submission(({**one, "prediction": ask(one)} for one in data), "submission.xlsx")

Neither pandas nor torch is needed; torch's DataLoader takes the data set as it is.
"""

from eyechart.compat.mmbench.dataset import MMBenchDataset
from eyechart.compat.mmbench.submission import dump_submission
from eyechart.exchange import NO_ANSWER

__all__ = ["NO_ANSWER", "MMBenchDataset", "dump_submission"]
