"""A plan on a Ray cluster: what each worker needs to make its model and load its images.

Everything here that workers call is a plain function, so that it pickles by its name: eyechart is installed
on every node. A user's file is sent as text where a node does not have it.
"""

from __future__ import annotations

import atexit
import contextlib
import pickle
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.images.substitutes import BlankImages
from eyechart.engine.cluster import ClusterExecutor, ClusterSettings
from eyechart.engine.look import LookSetup
from eyechart.engine.prepare import ImageSource
from eyechart.engine.ray_cluster import RayCluster, open_ray
from eyechart.engine.remote import Probe, WorkerSetup, make_probe
from eyechart.engine.retry import EngineSettings
from eyechart.errors import UsageError
from eyechart.models import environment
from eyechart.models.python import adapt, load_object, make_python_model
from eyechart.models.specs import make_model
from eyechart.runs.inputs import RESIZING, make_loader
from eyechart.runs.options import Options
from eyechart.runs.plan import Plan, make_preparer, passes_urls
from eyechart.store.journal import Journal
from eyechart.terminal import print_note
from eyechart.types import Model, ModelSettings, SeesAllSamples, read_capabilities

_PROBED = 8  # files that every worker tries to read
_LOOKED_AT = 1000  # samples, to find them
_MOST_FILES, _MOST_BYTES = 200, 4 * 2**20  # of a user's own modules


@contextlib.contextmanager
def open_cluster(plan: Plan) -> Iterator[RayCluster]:
    """The cluster that the options name, with the workers of this run, until the block ends."""
    options = plan.options
    with open_ray(
        options.ray_address, n_workers=options.workers, gpus_per_worker=options.gpus_per_worker
    ) as cluster:
        n = len(cluster.links)
        said = f"Ray at {cluster.address}: {cluster.describe()}; {n} worker{'s' * (n != 1)}"
        if options.progress:
            print_note(f"{said}; dashboard: {cluster.dashboard}" if cluster.dashboard else said)
        is_local = not read_capabilities(plan.model).is_endpoint
        if is_local and not options.gpus_per_worker and "no GPUs" not in said:
            print_note("the workers use no GPU: --gpus-per-worker 1 gives one to each")
        yield cluster


def make_executor(
    plan: Plan, cluster: RayCluster, journal: Journal, settings: EngineSettings, **parts: Any
) -> ClusterExecutor:
    """The executor of a plan on a cluster; `parts` as those of the local one."""
    options = plan.options
    names = ("input", *RESIZING, "allow_urls", "allow_private_urls")  # how images are loaded; no key
    looks: dict[str, Any] = {}
    if plan.look is not None:  # each worker makes its own searcher
        spec, own = options.searcher, options.make_model_settings("searcher")
        looks["look"] = LookSetup(rules=plan.look.rules, words=plan.look.words)
        looks["make_searcher"] = spec and partial(make_named_model, spec, own, environment.get_state())
    # What is sent to every worker. The key of an endpoint travels with it, and is written nowhere.
    setup = WorkerSetup(
        make_model=_choose_maker(plan),
        make_images=partial(make_images, {name: getattr(options, name) for name in names}),
        identity=plan.asked_identity,
        settings=msgspec.structs.replace(settings, rpm=None, tpm=None),  # the driver's
        pass_urls=passes_urls(plan),
        probes=[] if options.ship_images else list_probes(journal),
        folder=str(Path.cwd()),
        **looks,
    )
    how = ClusterSettings(ship_images=options.ship_images, describe=cluster.describe)
    preparer, links = make_preparer(plan), cluster.links
    return ClusterExecutor(
        links, setup, plan.model, preparer, journal, plan.scorer, settings, cluster=how, **parts
    )


def list_probes(journal: Journal) -> list[Probe]:
    """Parts of the first few files that hold images."""
    seen: dict[str, Probe] = {}
    for sample in islice(journal.samples(), _LOOKED_AT):
        for ref in sample.images:
            if len(seen) < _PROBED and ref.location not in seen and (probe := make_probe(ref)) is not None:
                seen[ref.location] = probe
    return list(seen.values())


# -- On a worker


def make_images(options: Mapping[str, Any]) -> ImageSource:
    """The loader of images, with the worker's own cache of downloads."""
    chosen = Options(**options)
    loader = make_loader(chosen)
    return BlankImages(loader) if chosen.input == "blank" else loader


@dataclass(frozen=True, slots=True)
class UserFile:
    """A user's file and the modules beside it that it imported, for nodes that do not have them."""

    place: str  # as the user wrote it
    texts: Mapping[str, bytes]  # by path, relative to the file's folder

    def find(self) -> tuple[str, Path | None]:
        """The path of the same file on this node; if it has none, in a new folder, which comes second."""
        path = Path(self.place)
        with contextlib.suppress(OSError):
            if path.read_bytes() == self.texts[path.name]:
                return self.place, None
        folder = Path(tempfile.mkdtemp(prefix="eyechart-"))
        for relative, text in self.texts.items():
            target = folder / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
        return str(folder / path.name), folder


def make_named_model(
    spec: str, settings: ModelSettings, state: environment.State, file: UserFile | None = None
) -> Model:
    """The model that a user named, with the driver's keys and URLs."""
    environment.restore_state(state)
    if file is None:
        return make_model(spec, settings)
    name = spec.removeprefix("python:")
    path, folder = file.find()
    model = make_python_model(load_object(f"{path}:{name.rpartition(':')[2]}"), name, settings)
    if folder is not None:
        _remove_on_close(model, folder)
    return model


def _remove_on_close(model: Model, folder: Path) -> None:
    """Remove a folder when the model is closed: a worker is killed soon after."""
    close = model.close

    async def close_and_remove() -> None:
        try:
            await close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # of a worker that ends by itself
    with contextlib.suppress(AttributeError):  # a user's class with slots
        model.close = close_and_remove  # type: ignore[method-assign]


def make_pickled_model(data: bytes, name: str, settings: ModelSettings) -> Model:
    """A model that was made on the driver: a user's object, or one that has studied the benchmark."""
    thing = pickle.loads(data)  # noqa: S301 - of our own driver
    return adapt(thing, name, settings, is_ready_made=True)


# -- On the driver


def _choose_maker(plan: Plan) -> Any:
    settings = plan.options.make_model_settings()
    spec = plan.model_spec
    if isinstance(plan.model, SeesAllSamples):
        return partial(make_pickled_model, _pickle(plan.model, plan.model.name), plan.model.name, settings)
    if not isinstance(spec, str):
        bare = replace(settings, parameters={})
        return partial(make_pickled_model, _pickle(spec, plan.model.name), plan.model.name, bare)
    place = spec.removeprefix("python:").rpartition(":")[0]
    file = read_user_file(place) if spec.startswith("python:") and place.endswith(".py") else None
    return partial(make_named_model, spec, settings, environment.get_state(), file)


def _pickle(thing: object, name: str) -> bytes:
    import ray.cloudpickle

    try:
        data: bytes = ray.cloudpickle.dumps(thing)
    except Exception as err:  # objects that hold connections, threads, weights
        hint = "leave out --executor ray"
        if name.startswith("python:"):
            hint = "name the model instead, so that every worker makes its own: python:file.py:Class"
        raise UsageError(f"{name} cannot be sent to workers: {type(err).__name__}: {err}", hint=hint) from err
    return data


def read_user_file(place: str) -> UserFile:
    """The text of a user's file, and of the modules below its folder that are imported."""
    path = Path(place).resolve()
    texts = {path.name: path.read_bytes()}
    size = len(texts[path.name])
    for module in list(sys.modules.values()):
        named = getattr(module, "__file__", None)
        if not named or not named.endswith(".py"):
            continue
        file = Path(named)
        if not _is_own(file, path.parent) or len(texts) >= _MOST_FILES:
            continue
        with contextlib.suppress(OSError):
            text = file.read_bytes()
            if size + len(text) <= _MOST_BYTES:
                size += len(text)
                texts[file.relative_to(path.parent).as_posix()] = text
    return UserFile(place, texts)


def _is_own(file: Path, folder: Path) -> bool:
    """Whether a module lies below the folder, and is not an installed package."""
    if not file.is_relative_to(folder):
        return False
    inside: Sequence[str] = file.relative_to(folder).parts
    return not any(part in ("site-packages", "dist-packages") or part.startswith(".") for part in inside)
