"""Training checkpoints: which are kept, which is chosen, and what is said of the others."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.checkpoint import Checkpoint, CheckpointStore, types_of, verify, write_directory
from glassformer.checkpoint.files import write_file
from glassformer.errors import CheckpointError
from tests.unit.checkpoint.tiny import filled_store, groups, save


def usable(found: Checkpoint | None) -> Checkpoint:
    assert found is not None
    return found


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def test_a_checkpoint_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "checkpoints")
    state = {"epoch": 3, "loss": 0.1 + 0.2, "seeds": [1, 2**100], "rng": "00ff", "nested": {"a": None}}
    path = store.save(2800, groups(1), state)
    found = usable(store.latest())

    assert path == tmp_path / "checkpoints" / "step-002800"
    assert (found.step, found.state, found.groups, found.skipped) == (2800, state, ["model", "optim"], ())
    for group, members in groups(1).items():
        loaded = found.tensors(group, types_of(members))
        assert all(torch.equal(loaded[name], tensor) for name, tensor in members.items())
    assert json.loads((path.parent / "latest.json").read_text()) == {"step": 2800, "directory": path.name}
    assert not (path.parent / "best.json").exists()


def test_saving_what_was_loaded_gives_the_same_bytes(tmp_path: Path) -> None:
    first = save(CheckpointStore(tmp_path / "a"), 7)
    found = CheckpointStore(tmp_path / "a").load(first)
    tensors = {group: found.tensors(group) for group in found.groups}
    second = CheckpointStore(tmp_path / "b").save(found.step, tensors, found.state)

    assert sorted(path.name for path in first.iterdir()) == sorted(path.name for path in second.iterdir())
    assert all(path.read_bytes() == (second / path.name).read_bytes() for path in first.iterdir())


def test_an_empty_folder_has_nothing(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "checkpoints")

    assert (store.latest(), store.best(), store.steps(), store.history()) == (None, None, [], [])
    assert not store.folder.exists()


@settings(deadline=None, max_examples=25)
@given(keep_last=st.integers(1, 3), bests=st.lists(st.booleans(), min_size=1, max_size=8))
def test_the_last_few_and_the_best_are_kept(memory: Path, keep_last: int, bests: list[bool]) -> None:
    store = CheckpointStore(Path(tempfile.mkdtemp(dir=memory)), keep_last)
    for step, best in enumerate(bests, start=1):
        save(store, step, best=best)
    steps = list(range(1, len(bests) + 1))
    best_step = max((step for step, best in zip(steps, bests, strict=True) if best), default=None)

    assert store.steps() == [step for step in steps if step in steps[-keep_last:] or step == best_step]
    found = store.best()
    assert (None if found is None else found.step) == best_step
    assert usable(store.latest()).step == len(bests)


def test_a_damaged_checkpoint_is_skipped_reported_and_left_alone(tmp_path: Path) -> None:
    store = filled_store(tmp_path, steps=3, keep_last=3)
    damage(store.path(3) / "optim.safetensors")
    (store.path(2) / "state.json").unlink()
    found = usable(store.latest())

    assert found.step == 1
    assert found.skipped == (
        f"{store.path(3) / 'optim.safetensors'}: the content is not what was written (SHA-256 differs); "
        "it is damaged",
        f"{store.path(2) / 'state.json'}: there is no such file",
    )
    assert store.steps() == [1, 2, 3]


def test_when_none_is_usable_that_is_no_empty_folder(tmp_path: Path) -> None:
    store = filled_store(tmp_path, steps=1)
    (store.path(1) / "manifest.json").unlink()
    with pytest.raises(CheckpointError) as refused:
        store.latest()

    assert str(refused.value) == (
        f"{tmp_path}: no checkpoint can be used\n{store.path(1) / 'manifest.json'}: there is no such file"
    )


def test_rotation_never_deletes_the_last_one_that_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the disk had begun to lose what is written to it."""
    store = CheckpointStore(tmp_path, keep_last=2)
    for step in range(1, 4):
        save(store, step)

    def forgetful(target: Path, *args: object, **kwargs: object) -> object:
        manifest = write_directory(target, *args, **kwargs)  # type: ignore[arg-type]
        if target.parent == tmp_path:
            damage(target / "model.safetensors")
        return manifest

    monkeypatch.setattr("glassformer.checkpoint.store.write_directory", forgetful)
    for step in range(4, 9):
        save(store, step)

        assert usable(store.latest()).step == 3
    assert store.steps() == [3, 7, 8]


def test_a_run_that_diverged_neither_resumes_from_nan_nor_loses_the_good_one(tmp_path: Path) -> None:
    """pocket-tts#262: a NaN run rotated away all good checkpoints."""
    store = CheckpointStore(tmp_path, keep_last=1)
    save(store, 1)
    for step in (2, 3):
        bad = groups(step)
        bad["model"]["a.weight"][1, 2] = float("nan")
        store.save(step, bad, {})
    found = usable(store.latest())
    with pytest.raises(CheckpointError) as refused:
        store.load(store.path(3))
    told = f"{store.path(3)}: 'model: a.weight' is not finite; the run had diverged when this was saved"

    assert found.step == 1
    assert found.skipped == (told,)
    assert str(refused.value) == told
    assert store.load(store.path(3), allow_nonfinite=True).tensors("model")["a.weight"].isnan().any()


def test_a_copied_checkpoint_stays_valid(tmp_path: Path) -> None:
    store = filled_store(tmp_path / "a")
    shutil.copytree(store.path(3), tmp_path / "b" / store.path(3).name)
    found = usable(CheckpointStore(tmp_path / "b").latest())

    assert found.step == 3
    verify(found.path)


def test_a_checkpoint_of_the_same_step_gives_way(tmp_path: Path) -> None:
    store = filled_store(tmp_path)
    store.save(3, groups(30), {"again": True})

    assert usable(store.latest()).state == {"again": True}
    assert [path.name for path in tmp_path.glob("step-000003*")] == ["step-000003"]


def test_a_damaged_one_of_the_same_step_is_set_aside(tmp_path: Path) -> None:
    store = filled_store(tmp_path)
    for _ in range(2):
        damage(store.path(3) / "model.safetensors")
        save(store, 3)

    assert usable(store.latest()).step == 3
    assert sorted(path.name for path in tmp_path.glob("step-000003*")) == [
        "step-000003",
        "step-000003.damaged-1",
        "step-000003.damaged-2",
    ]
    assert store.steps() == [1, 2, 3]


def test_history_is_spaced_by_a_ratio_and_outlives_rotation(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep_last=1)
    for step in range(100, 2100, 100):
        save(store, step)

    assert store.history() == [100, 200, 300, 500, 800, 1200, 1800]
    assert store.steps() == [2000]
    for step in store.history():
        loaded = store.model_at(step, types_of(groups(step)["model"]))
        assert all(torch.equal(loaded[name], tensor) for name, tensor in groups(step)["model"].items())


def test_history_costs_no_room_while_its_checkpoint_lives(tmp_path: Path) -> None:
    store = filled_store(tmp_path, steps=1)
    model = tmp_path / "history" / "step-000001" / "model.safetensors"

    assert model.stat().st_ino == (store.path(1) / "model.safetensors").stat().st_ino


def test_pointers_that_a_crash_left_behind_are_mended_by_the_next_save(tmp_path: Path) -> None:
    store = filled_store(tmp_path, keep_last=1)
    save(store, 4, best=True)
    (tmp_path / "best.json").write_text('{"step": 1}')  # as before the crash
    save(store, 5)

    assert json.loads((tmp_path / "best.json").read_text())["step"] == 4
    assert store.steps() == [4, 5]
    shutil.rmtree(store.path(4))
    assert store.best() is None


def test_a_group_that_is_not_there_is_named(tmp_path: Path) -> None:
    found = usable(filled_store(tmp_path).latest())
    with pytest.raises(CheckpointError) as refused:
        found.tensors("ema")

    assert str(refused.value) == f"{found.path}: no ema.safetensors here; there is model, optim"


def test_tensors_of_another_model_are_refused(tmp_path: Path) -> None:
    found = usable(filled_store(tmp_path).latest())
    with pytest.raises(CheckpointError, match="made for another model"):
        found.tensors("model", types_of({"b": torch.zeros(1)}))


@pytest.mark.parametrize("state", [{"a": float("nan")}, {"a": object()}, {"a": {1, 2}}])
def test_a_state_that_json_cannot_hold_is_an_error_before_anything_is_written(
    tmp_path: Path, state: dict[str, object]
) -> None:
    store = CheckpointStore(tmp_path)
    with pytest.raises((TypeError, ValueError)):
        store.save(1, groups(1), state)

    assert list(tmp_path.iterdir()) == []


def test_a_state_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    deep: dict[str, object] = {}
    for _ in range(20):
        deep = {"a": deep}
    with pytest.raises(CheckpointError, match="nested deeper"):
        CheckpointStore(tmp_path).save(1, groups(1), deep)

    assert list(tmp_path.iterdir()) == []


def test_names_and_numbers_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keep nothing"):
        CheckpointStore(tmp_path, keep_last=0)
    with pytest.raises(ValueError, match="name on disk"):
        CheckpointStore(tmp_path).save(-1, groups(1), {})
    with pytest.raises(ValueError, match="name on disk"):
        CheckpointStore(tmp_path).save(1, {"../model": {}}, {})


def test_a_manifest_without_a_run_s_state_is_no_checkpoint(tmp_path: Path) -> None:
    store = filled_store(tmp_path)
    with pytest.raises(CheckpointError, match=r"state\.json: there is no such file"):
        store.load(tmp_path / "history" / "step-000001")


def test_a_state_of_another_program_is_no_checkpoint(tmp_path: Path) -> None:
    write_directory(tmp_path / "step-000001", lambda folder: write_file(folder / "state.json", [b"{}"]))
    with pytest.raises(CheckpointError) as refused:
        CheckpointStore(tmp_path).load(tmp_path / "step-000001")

    assert str(refused.value) == (
        f"{tmp_path / 'step-000001' / 'state.json'}: this is not the state of a training run"
    )
