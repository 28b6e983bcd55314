"""The diagrams of phases: the causes of each change of phase, and where they are drawn.

`make docs` draws this data; the product does not use it. The tests run the loop over every small
case, and compare the changes that occur with these tables, in both directions.
"""

from dataclasses import dataclass

Box = tuple[int, int, int, int]  # x, y, width, height

START, END, ANY = "start", "end", "any phase"
# Labels that stand for several reasons or events.
COUNTED = "counted failure"
BAD_SPEC = "invalid spec or class"
FRESH_AGENT = "new agent starts"
STOPPED = "waits again"
LONG_WAIT = "wait of over an hour"
LATER = "waits in its batch or in a queue"


@dataclass(frozen=True, slots=True)
class Edge:
    """One arrow: its ends, the lines of its label, its path, and the position of its label.

    `anchor` is SVG's text-anchor. An end is a phase, a group of phases, or START, END or ANY.
    """

    source: str
    target: str
    words: tuple[str, ...]
    path: str
    x: int
    y: int
    anchor: str = "middle"
    by_person: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """One picture: its size, its boxes by phase, the groups of phases, and its edges."""

    title: str
    width: int
    height: int
    phases: dict[str, Box]
    groups: dict[str, tuple[str, ...]]
    group_boxes: dict[str, Box]
    edges: tuple[Edge, ...]


# One edge per row is more readable than one line per argument.
# fmt: off
SUBTASK = Diagram(
    title="The phases of a subtask, and the causes of their changes",
    width=960,
    height=500,
    phases={
        START: (72, 40, 14, 14),
        "Pending": (40, 210, 160, 60),
        "Running": (440, 210, 160, 60),
        "Queued": (440, 50, 160, 60),
        "Done": (760, 72, 160, 60),
        "NeedsReview": (760, 210, 160, 60),
        "Skipped": (760, 348, 160, 60),
        ANY: (440, 362, 160, 34),
        END: (513, 434, 14, 14),
    },
    groups={
        "finished": ("Done", "NeedsReview", "Skipped"),
    },
    group_boxes={
        "finished": (740, 30, 200, 400),
    },
    edges=(
        Edge("Done", "NeedsReview", ("CommitMissing",), "M790 132 V206", 799, 172, "start"),
        Edge("Pending", "Queued", (LATER,), "M150 210 C 160 120 290 66 436 66", 290, 54),
        Edge("Pending", "Running", (FRESH_AGENT,), "M200 228 H436", 318, 220),
        Edge("Queued", "Pending", ("Infrastructure", STOPPED),
            "M440 96 C 330 100 240 140 180 206", 340, 132, "start"),
        Edge("Queued", "Running", ("its turn in the batch", "the queue admits the Job"),
            "M515 110 V206", 524, 140, "start"),
        Edge("Running", "Done", ("Verified", "NoChanges"),
            "M600 216 C 700 216 680 104 756 104", 684, 78),
        Edge("Running", "NeedsReview", ("Blocked, OutOfScope",), "M600 246 H756", 668, 239),
        Edge("Running", "Pending", ("Infrastructure, ModelSilent, Transient", "Auth, Config",
                "Cancelled, Conflict", "BudgetExceeded", STOPPED, COUNTED, "BranchInUse"),
            "M440 252 H204", 318, 272),
        Edge("Running", "Queued", ("the queue holds the Job",), "M475 210 V114", 466, 192, "end"),
        Edge("Running", "Skipped", ("TooManyFailures",),
            "M600 262 C 700 272 660 366 756 366", 656, 326, "end"),
        Edge(ANY, "Skipped", ("SkippedByUser",), "M600 386 H756", 668, 404),
        Edge(ANY, END, ("Removed",), "M520 396 V430", 530, 420, "start"),
        Edge("finished", "Pending", ("revision raised, skip removed",),
            "M760 430 C 740 482 120 520 120 274", 250, 470, by_person=True),
        Edge(START, "Pending", ("created, added again",),
            "M79 56 V206", 88, 100, "start", by_person=True),
    ),
)
PACKAGE = Diagram(
    title="The phases of a package, and the causes of their changes",
    width=960,
    height=720,
    phases={
        START: (53, 609, 14, 14),
        "Pending": (50, 230, 140, 52),
        "Queued": (200, 80, 140, 52),
        "Running": (380, 230, 140, 52),
        "Succeeded": (770, 80, 150, 52),
        "NeedsReview": (770, 175, 150, 52),
        "Failed": (770, 270, 150, 52),
        ANY: (140, 599, 140, 34),
        "Stalled": (480, 540, 140, 52),
        "Suspended": (480, 640, 140, 52),
    },
    groups={
        "progressing": ("Pending", "Queued", "Running"),
        "ended": ("Succeeded", "NeedsReview", "Failed"),
    },
    group_boxes={
        "progressing": (30, 44, 510, 326),
        "ended": (750, 44, 190, 326),
    },
    edges=(
        Edge("NeedsReview", "Succeeded", ("Succeeded",),
            "M800 175 V136", 808, 158, "start", by_person=True),
        Edge("Pending", "Running", (FRESH_AGENT,), "M190 246 H376", 284, 240),
        Edge("Queued", "Pending", ("PlanBehind",),
            "M222 132 C 200 180 180 190 150 226", 170, 164, "end"),
        Edge("Queued", "Running", ("the Job is deleted", "the queue admits the Job"),
            "M340 96 C 420 96 440 170 440 226", 360, 76, "start"),
        Edge("Running", "Pending", ("BackingOff", "ClassBusy", "EpisodeNotStarted",
                "GateClosed", "PlanBehind"),
            "M380 268 H194", 286, 286),
        Edge("Running", "Queued", ("the queue holds the Job",),
            "M400 230 C 390 190 330 170 300 136", 352, 206, "end"),
        Edge("Stalled", ANY, ("corrected",), "M480 580 C 400 582 350 606 284 610", 416, 605),
        Edge("Suspended", "Stalled", (LONG_WAIT,),
            "M580 640 V596", 589, 622, "start", by_person=True),
        Edge("Suspended", ANY, ("resumed, edited",),
            "M480 682 C 380 686 260 684 250 637", 352, 702, by_person=True),
        Edge(ANY, "Stalled", ("InvalidSpec",),
            "M250 599 C 280 556 380 554 476 554", 372, 548, by_person=True),
        Edge(ANY, "Suspended", ("Suspended",), "M280 622 C 350 626 400 652 476 656", 424, 637),
        Edge("ended", "Pending", ("GateClosed", "PlanBehind"),
            "M850 370 V440 H100 V286", 300, 418, by_person=True),
        Edge("ended", "Running", (FRESH_AGENT,),
            "M800 370 V400 H470 V286", 650, 394, by_person=True),
        Edge("ended", "Stalled", ("UnpricedModel", BAD_SPEC, LONG_WAIT),
            "M900 370 V576 H624", 790, 540, by_person=True),
        Edge("progressing", "Failed", ("EpisodeLimit", "BudgetExceeded"),
            "M540 296 H766", 645, 272),
        Edge("progressing", "NeedsReview", ("NeedsReview",), "M540 201 H766", 645, 193),
        Edge("progressing", "Stalled", ("ModelSilent", "NeverFits", "Auth, Config",
                "StartRefused", "UnpricedModel", BAD_SPEC, LONG_WAIT),
            "M520 370 V536", 530, 454, "start"),
        Edge("progressing", "Succeeded", ("Succeeded",), "M540 106 H766", 645, 98),
        Edge(START, ANY, ("created",), "M69 616 H136", 102, 608, by_person=True),
    ),
)
