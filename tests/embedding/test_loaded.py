import gc
import threading
import weakref

from rag_platform.embedding.loaded import Loaded


class Model:
    """Stands for something large."""


def test_the_models_used_last_are_kept_and_the_others_freed() -> None:
    kept = Loaded[Model](2)
    first, second = (weakref.ref(kept.get(name, Model)) for name in ("a", "b"))
    assert kept.get("a", Model) is first()
    third = weakref.ref(kept.get("c", Model))
    gc.collect()
    assert [ref() is not None for ref in (first, second, third)] == [True, False, True]
    assert kept.get("c", Model) is third()


def test_room_is_made_before_the_next_is_loaded() -> None:
    kept = Loaded[Model](1)
    old = weakref.ref(kept.get("a", Model))
    seen: list[bool] = []

    def load() -> Model:
        seen.append(old() is None)
        return Model()

    kept.get("b", load)
    assert seen == [True]


def test_a_failed_load_leaves_nothing() -> None:
    kept = Loaded[Model](1)
    try:
        kept.get("a", lambda: [][0])
    except IndexError:
        assert isinstance(kept.get("a", Model), Model)


def test_threads_share_one() -> None:
    kept, loads, found = Loaded[Model](2), [], []

    def load() -> Model:
        loads.append(1)
        return Model()

    threads = [threading.Thread(target=lambda: found.append(kept.get("a", load))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert len(set(map(id, found))) == 1
