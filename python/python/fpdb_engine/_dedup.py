"""From a column of texts to the rows to keep, in one call."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

from . import _columns
from ._documents import EARLIER, Row, Stored, TextOf, id_of
from ._errors import InvalidArgumentError
from ._growing import Growing
from ._native import Comparer, Db
from ._order import Order, order_of
from ._passages import dedup_passages
from ._report import Deduplicated
from ._shown import Progress, reporter, shown, with_quoting

if TYPE_CHECKING:
    from ._native import _ArrowArray, _ArrowStream, _Decided

Taken = TypeVar("Taken")
# What Comparer.read says of rows without text, and of those that are compared for equality.
_NOTHING, _EQUALITY = 0, 2
# What Comparer.decide says of rows to keep.
_KEPT = np.uint64(2**64 - 1)
# Up to this number of texts, the same bands are chosen. So a list and an iterator give the same rows.
_EXPECTED = 10_000_000


class Options(TypedDict, total=False):
    """The options of dedup() that other functions pass on."""

    keep: Any
    similarity: float | None
    recall: float | None
    verify: bool | Literal["all"]
    ngram: int | None
    within: Any
    against: str | Path | None
    run: str | None
    replaces: Sequence[str]
    text_of: Any
    strict_ids: bool
    recipe: str | None
    expected: int | None
    threads: int | None
    progress: Progress | bool | None


def dedup(
    texts: Iterable[Any] | _ArrowArray | _ArrowStream,
    ids: Iterable[Any] | _ArrowArray | _ArrowStream | None = None,
    *,
    similarity: float | None = None,
    recall: float | None = None,
    verify: bool | Literal["all"] = True,
    ngram: int | None = None,
    passages: bool = False,
    keep: Any = "first",
    within: Iterable[Any] | _ArrowArray | _ArrowStream | None = None,
    against: str | Path | None = None,
    run: str | None = None,
    replaces: Sequence[str] = (),
    text_of: TextOf | None = None,
    strict_ids: bool = False,
    recipe: str | None = None,
    expected: int | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Deduplicated:
    """Finds near-duplicates among texts, and returns which rows to keep.

    texts is a list, an array of numpy or pyarrow, a series of pandas or Polars, a column of datasets, anything
    with the Arrow C stream interface, or an iterator of texts or of such chunks, which may be larger than
    memory. None is a text without content. The rows found are the same for all of these.

    Two texts are near-duplicates if the Jaccard similarity of their pairs of words is at least similarity, 0.8 by
    default; with recipe="fives/1", that of their runs of five words, as MinHash programs compare them; with ngram,
    that of the runs of this number of words. Of pairs of exactly this similarity, the share recall is found, 0.95 by
    default, and of more similar ones more. A row is compared with at most 256 others, the nearest by their estimates.
    If more are near it, some near-duplicates may be missed, and which ones may depend on how the texts are divided
    into chunks. The report counts the kept rows that have more. A row is kept unless it is like one that is kept
    already. Texts that are too short to be compared are dropped only if they are equal to a kept one, but for case
    and punctuation.

    Near-duplicates are found by sketches, which estimate the similarity. Then the exact one is computed, as jaccard()
    does, so no row is dropped that is less similar. With verify=False the sketches decide, in less time: they tell
    the similarity with a standard error of about 0.01, so some rows a little below the threshold are dropped, too. The
    similarities in the result are then estimates from their minima, with a standard error of about 0.04.

    With passages, dedup_passages() then looks for passages in the rows that are kept, and found.passages has them.

    keep says which row of several to keep: the "first", the "longest", that with the "least id" as text, or, with
    scores in an array or a column, that with the greatest score. So a date keeps the newest. Scores are also compared with
    those of earlier runs. For that, all whole numbers of all runs must be at most 2^53, or all must be greater.

    With within, a column of groups such as languages or sites, rows are compared only with rows of the same group. Rows
    whose group is missing are a group, too. Passages are looked for in the rows of all groups.

    With against, the rows are also compared with the documents of a database, and kept rows are added to it. It is
    created if it is missing. ids are the names of the rows, and run is the name of this run, such as the month of the
    crawl; the database knows a document as "run/id". If a run is repeated under its name, for example after it was
    interrupted, it finds the same rows again, and what it stored before and does not keep now is removed. Any other run
    compares itself with it: a page that did not change is a duplicate of itself. Of a page that did, both versions stay,
    unless replaces names the runs whose documents of the same id give way, however little a page changed. No row is
    compared with such a document. For that, the ids are read before the texts, and the texts of an iterator are written
    to a temporary file. Rows whose id is missing or occurred before in the run are named by their row, and counted; with
    strict_ids they are refused.

    A database has no texts. The features of its documents, what they are compared by, are kept in a folder beside it,
    "corpus.fpdb-features" for "corpus.fpdb": about 1.6 kB for 500 words. So the similarity to an earlier document is as
    exact as any other, but for 0.003 in one of a million comparisons. The folder may be removed. Then, or for
    documents that were stored with verify=False, a row is dropped if its sketch matches that of the document. ngram
    must be the same in all runs, unless the folder is removed.

    text_of is a function that takes names of earlier documents, and returns their texts, or None for those that it does
    not know. It is asked for the texts of documents whose sketches do not tell on which side of the threshold the
    similarity is, because the estimate is within three standard errors of it; with verify="all", for those of all
    documents that are near. Where it knows none, the features decide. With keep, an earlier document that loses is
    removed from the database, and listed in replaced.

    Time grows linearly with the length of the texts. Rows that share a band of their sketches with a hundred kept
    rows and more than by chance, such as pages of one template, are not searched by their sketches: what they share
    is counted, in 6 bytes of memory for each pair of words of such a row that few others have, up to 1 GiB. In a
    template with a million rows, each takes about half a millisecond. With against or verify=False, the time for a
    template grows with the square of its number of rows: 100,000 take half a minute. On the disk, temporary files take
    about 1.3 times the size of the kept texts, or 290 bytes per kept text with verify=False. In memory, the
    result takes 13 bytes per row, comparing 4.25 more, and sketches up to 75 MB of recent rows and up to 384 MiB of
    others, in pages that are read again if there are more. Other values of keep than
    "first" write texts that are not in memory to a temporary file. Temporary files are where the module tempfile puts
    them.

    expected is needed for iterators of more than ten million texts, for which other bands are chosen. progress is
    called with the number of rows so far and the number of all, or None if that is not known; True shows tqdm's bar.

    >>> texts = [
    ...     "The quick brown fox jumps over the lazy dog and runs into the forest behind the old mill.",
    ...     "Trains leave for the airport every ten minutes, until midnight, from platform number four.",
    ...     "The quick brown fox jumps over the lazy dog, and runs into the forest behind the old mill!",
    ... ]
    >>> found = dedup(texts)
    >>> found.keep.tolist(), found.duplicate_of.tolist()
    ([True, True, False], [-1, -1, 0])
    >>> [text for text, is_kept in zip(texts, found.keep) if is_kept] == texts[:2]
    True
    >>> dedup(texts, keep=[1, 1, 2]).keep.tolist()  # a score for each
    [False, True, True]
    """
    if passages and hasattr(texts, "__next__"):
        raise InvalidArgumentError("passages: an iterator can be read only once; give a list, an array or a column")

    def finish(found: Deduplicated) -> Deduplicated:
        if not passages:
            return found
        return with_quoting(found, dedup_passages(texts, rows=found.keep, threads=threads), texts)

    return deduplicated(
        texts,
        ids,
        keep=keep,
        within=within,
        similarity=similarity,
        recall=recall,
        verify=verify,
        ngram=ngram,
        against=against,
        run=run,
        replaces=replaces,
        text_of=text_of,
        strict_ids=strict_ids,
        recipe=recipe,
        expected=expected,
        threads=threads,
        progress=progress,
        finish=finish,
    )


def deduplicated(
    texts: Any,
    ids: Any = None,
    *,
    finish: Callable[[Deduplicated], Deduplicated],
    keep: Any = "first",
    similarity: float | None = None,
    recall: float | None = None,
    verify: bool | Literal["all"] = True,
    ngram: int | None = None,
    within: Any = None,
    against: str | Path | None = None,
    run: str | None = None,
    replaces: Sequence[str] = (),
    text_of: TextOf | None = None,
    strict_ids: bool = False,
    recipe: str | None = None,
    expected: int | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Deduplicated:
    """Does what dedup() does. Calls finish with what was found, before documents of earlier runs are removed: if it
    fails, the run can be repeated, and finds the same again."""
    _check_keep(keep, ids, against)
    if not (isinstance(verify, bool) or verify == "all"):
        raise InvalidArgumentError(f'verify {verify!r}: expected True, False or "all"')
    _check(similarity, recall, recipe, verify is not False, ngram, text_of)
    for name, number in (("expected", expected), ("threads", threads)):
        if number is not None and number < 1:
            raise InvalidArgumentError(f"{name} {number}: expected a number of at least 1")
    _check_run(against, run, replaces, text_of)
    if isinstance(within, str):
        raise TypeError("within: expected a column of groups, not a str")
    if within is not None and against is not None:
        raise InvalidArgumentError("within: not together with against; use a database for each group")
    total = _columns.length(texts)
    expected = max(expected or total or 0, _EXPECTED)
    settings: dict[str, Any] = {"similarity": similarity, "recall": recall, "recipe": recipe}
    with contextlib.ExitStack() as stack:
        stack.enter_context(_ended_by_sigterm())
        options: dict[str, Any] = {"expected_entries": expected, "threads": threads, "durability": "buffered"}
        documents: Stored | None = None
        rule = features = None
        announce: Callable[[Iterable[str | None]], None] | None = None
        if against is not None:
            path = Path(against)
            if path.exists() and not (path.is_dir() and not any(path.iterdir())):
                db = Db.open(path, **{name: it for name, it in settings.items() if it is not None}, **options)
            else:
                db = Db.create(path, ids="names", **_defaults(settings), **options)
            stack.enter_context(db)
            if db.match_rule is None or db.id_kind != "names":
                raise InvalidArgumentError(f'against: {against} was not created with a similarity and ids="names"')
            settings = {"similarity": db.similarity, "recall": db.recall, "recipe": db.recipe}
            documents = Stored(db, str(run), replaces, text_of, verify == "all")
            rule, announce = db.match_rule, documents.announce if replaces else None
            features = Path(f"{path}-features")
        settings = _defaults(settings)
        comparer = Comparer(
            **settings,
            rule=rule,
            features=features,
            expected=expected,
            ngram=ngram,
            exact=bool(verify),
            threads=threads,
            scratch=Path(tempfile.gettempdir()),
        )
        stack.callback(comparer.release)
        order = order_of(keep, texts, ids, within, announce)
        rows = _Rows(comparer, documents, order, strict_ids, settings["similarity"])
        found = shown(rows.all(total, reporter(progress)), texts, text_of)
        # Before the target is written and passages are searched, which need the memory and the space on the disk.
        comparer.finish()
        found = finish(found)
        if documents is not None:
            documents.finish()
    return found


def _defaults(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings of a new database, with defaults for those that were not given."""
    defaults = {"similarity": 0.8, "recall": 0.95, "recipe": "default"}
    return {name: defaults[name] if value is None else value for name, value in settings.items()}


def _check_keep(keep: Any, ids: Any, against: Any) -> None:
    words = ("first", "longest", "least id")
    if isinstance(keep, str) and keep not in words:
        raise InvalidArgumentError(f'keep {keep!r}: expected "first", "longest", "least id", or a column of scores')
    uses_ids = against is not None or isinstance(keep, str) and keep == "least id"
    if uses_ids and ids is None:
        raise InvalidArgumentError("ids: give the names of the rows")
    if ids is not None and not uses_ids:
        raise InvalidArgumentError('ids: only against and keep="least id" use them; leave them out')


def _check(similarity: Any, recall: Any, recipe: Any, verify: bool, ngram: Any, text_of: Any) -> None:
    """Refuses options before any work is done."""
    for name, share, most in (("similarity", similarity, 1), ("recall", recall, 0.999)):
        is_number = isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
        if share is not None and not (is_number and 0.5 <= share <= most):
            raise InvalidArgumentError(f"{name} {share!r}: expected a number from 0.5 to {most}")
    names = Comparer.recipes()
    if recipe is not None and recipe not in names:
        raise InvalidArgumentError(f"recipe {recipe!r}: expected one of {', '.join(names)}")
    for name, option in (("ngram", ngram), ("text_of", text_of)):
        if option is not None and not verify:
            raise InvalidArgumentError(f"{name}: it is for exact similarities; leave out verify=False")


def _check_run(against: Any, run: Any, replaces: Any, text_of: Any) -> None:
    if against is None:
        for name, option in (("run", run), ("replaces", replaces), ("text_of", text_of)):
            if option:
                raise InvalidArgumentError(f"{name}: it is for earlier documents; give against, a database of them")
        return
    if run is None:
        raise InvalidArgumentError(
            'run: give the run a name, such as run="2026-11". An interrupted run is continued under its name, and '
            "the same id in another run is another document"
        )
    if text_of is not None and not callable(text_of):
        raise TypeError(f"text_of: expected a function, not {type(text_of).__name__}")
    if isinstance(replaces, str):
        raise TypeError("replaces: expected a list of names of runs, not a str")
    for name in [run, *replaces]:
        if not isinstance(name, str) or not name or "/" in name:
            raise InvalidArgumentError(f"run {name!r}: expected a name without a slash")
    if run in replaces:
        raise InvalidArgumentError(f"replaces: {run!r} is this run")


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Lets SIGTERM end the program as an exception does, so that temporary files are removed."""
    is_default = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if not is_default:
        yield
        return

    def end(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


class _Rows:
    """One pass over the rows, in the order in which they are compared. Numbers of rows are places in it."""

    def __init__(
        self, comparer: Comparer, documents: Stored | None, order: Order, strict_ids: bool, threshold: float
    ) -> None:
        self.comparer = comparer
        self.threshold = threshold
        self.documents = documents
        self.order = order
        self.strict_ids = strict_ids
        self.duplicate_of = Growing(np.int64)
        self.similarity = Growing(np.float32)
        self.keep = Growing(np.bool_)
        self.earlier: dict[int, str] = {}
        self.rows = self.empty = self.too_short = self.mended = self.unnamed = self.same_id = self.unsure = self.crowded = 0
        self.estimated = self.below = 0

    def all(self, total: int | None, report: Progress) -> Deduplicated:
        for chunk in self.order.texts:
            self._chunk(chunk)
            report(self.rows, total)
        if self.order.ids is not None and next(self.order.ids, self) is not self:
            raise InvalidArgumentError(f"ids: there are more than the {self.rows} texts")
        if self.order.groups is not None and next(self.order.groups, self) is not self:
            raise InvalidArgumentError(f"within: there are more than the {self.rows} texts")
        found = Deduplicated(
            keep=self.keep.all(),
            duplicate_of=self.duplicate_of.all(),
            similarity=self.similarity.all(),
            threshold=self.threshold,
            earlier=self.earlier,
            empty=self.empty,
            too_short=self.too_short,
            estimated=self.estimated,
            unsure=self.unsure,
            below=self.below,
            same_id=self.same_id,
            unnamed=self.unnamed,
            unscored=self.order.unscored,
            crowded=self.crowded,
            mended=self.mended,
            **(self.documents.counts() if self.documents is not None else {}),
        )
        found = found if self.order.rows is None else _as_given(found, self.order.rows)
        if self.documents is not None:
            for row, names in self.documents.superseded().items():
                found.replaced.setdefault(row, []).extend(names)
        return found

    def _chunk(self, texts: Any) -> None:
        if self.documents is not None:
            self._beside(texts, self.documents)
            return
        groups = self._groups(len(texts))
        kinds, decided = self._taken(texts, lambda texts: self.comparer.add(texts, groups))
        self._count(kinds)
        # Checks the ids, by which the rows are in order.
        self._named(self.rows - len(kinds))
        self._note(decided)

    def _beside(self, texts: Any, documents: Stored) -> None:
        """Decides about a chunk of rows that are compared with the documents of a database, too."""
        sketches, kinds = self._taken(texts, self.comparer.read)
        first = self.rows
        places = self._count(kinds)
        rows = self._named(first)
        near = documents.near(sketches, places, rows, self.comparer)
        offsets = np.searchsorted(near.rows, np.arange(len(kinds) + 1)).astype(np.uint64)
        decided = self.comparer.decide(
            offsets, near.of, near.distances, near.gives_way, near.texts, near.names, near.sketches
        )
        of, _, estimated, gave_way, _ = decided
        keep = of == _KEPT
        is_earlier = ~keep & (of >= EARLIER)
        for place in np.flatnonzero(is_earlier).tolist():
            self.earlier[first + place] = name = near.names[int(of[place]) - EARLIER]
            self.same_id += id_of(name) == rows[place].id
        for place, position in gave_way:
            documents.give_way(first + place, near.names[position], int(near.ids[position]))
        unread = np.flatnonzero(is_earlier & (estimated != 0))
        if len(unread):
            theirs = [near.sketches[place - EARLIER] for place in of[unread].tolist()]
            self.unsure += int(np.count_nonzero(self.comparer.are_unsure(unread, theirs)))
        kept = places[keep[places]]
        of_kept = [rows[place] for place in kept.tolist()]
        self.comparer.keep_features(kept, documents.names(of_kept))
        documents.add(sketches[kept], first + kept, of_kept)
        self._note(decided)

    def _count(self, kinds: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """Counts the rows of a chunk. Returns the places of those with a text."""
        self.rows += len(kinds)
        places = np.flatnonzero(kinds != _NOTHING)
        self.empty += len(kinds) - len(places)
        self.too_short += int(np.count_nonzero(kinds == _EQUALITY))
        return places

    def _note(self, decided: _Decided) -> None:
        """Notes what was decided of a chunk."""
        of, similarity, estimated, _, crowded = decided
        self.crowded += crowded
        keep = of == _KEPT
        self.keep.append(keep)
        self.duplicate_of.append(np.where(keep | (of >= EARLIER), np.uint64(2**64 - 1), of).view(np.int64))
        self.similarity.append(similarity.astype(np.float32))
        is_estimated = ~keep & (estimated != 0)
        self.estimated += int(np.count_nonzero(is_estimated))
        self.below += int(np.count_nonzero(similarity[is_estimated].astype(np.float32) < np.float32(self.threshold)))

    def _groups(self, number: int) -> list[str | None] | None:
        """Returns the groups of the next rows, if there are any."""
        if self.order.groups is None:
            return None
        some = itertools.islice(self.order.groups, number)
        groups = [None if it is None else it.encode(errors="backslashreplace").decode() for it in some]
        if len(groups) < number:
            raise InvalidArgumentError(f"within: there are fewer than the {self.rows + number} texts")
        return groups

    def _taken(self, texts: Any, take: Callable[[Any], Taken]) -> Taken:
        """Passes on a chunk. Lone surrogates are replaced."""
        try:
            return take(texts)
        except UnicodeEncodeError:
            texts, mended = _columns.without_surrogates(texts)
            self.mended += mended
            return take(texts)

    def _named(self, first: int) -> list[Row]:
        """Returns the names of the rows of a chunk: unique ones in this run."""
        if self.order.ids is None:
            return []
        number = self.rows - first
        ids = list(itertools.islice(self.order.ids, number))
        if len(ids) < number:
            raise InvalidArgumentError(f"ids: there are fewer than the {self.rows} texts")
        rows = np.arange(first, self.rows) if self.order.rows is None else self.order.rows[first : self.rows]
        is_new = self.comparer.are_new([id or "" for id in ids])
        for place, (row, id) in enumerate(zip(rows.tolist(), ids)):
            if id and is_new[place]:
                continue
            if self.strict_ids:
                problem = f"the id {id!r} occurred before" if id else "there is no id"
                message = f"ids: row {row}: {problem}; leave out strict_ids to name such rows by number"
                raise InvalidArgumentError(message)
            self.unnamed += 1
            # It may be an id of another row, before or after.
            made = f"{id or ''}#{row}"
            while not self.comparer.are_new([made])[0]:
                made += f"#{row}"
            ids[place] = made
        return [Row(id or "", self._priority(first + place, id)) for place, id in enumerate(ids)]

    def _priority(self, number: int, id: str | None) -> int | str | None:
        if self.order.priorities is not None:
            return int(self.order.priorities[number])
        return None if self.order.rows is None else id


def _as_given(found: Deduplicated, rows: npt.NDArray[np.int64]) -> Deduplicated:
    """Puts rows that were compared in another order back into the order in which they were given."""
    places = np.empty_like(rows)
    places[rows] = np.arange(len(rows))
    of = found.duplicate_of[places]
    return dataclasses.replace(
        found,
        keep=found.keep[places],
        duplicate_of=np.where(of >= 0, rows[of], -1),
        similarity=found.similarity[places],
        earlier={int(rows[place]): name for place, name in found.earlier.items()},
        replaced={int(rows[place]): names for place, names in found.replaced.items()},
    )
