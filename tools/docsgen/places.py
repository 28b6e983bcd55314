"""Where the phases and the edges of each picture are drawn: data, found by looking.

An edge without a place here is drawn as a straight line between its phases.
"""

from dataclasses import dataclass

from tools.docsgen.edges import ANY, END, START

Box = tuple[int, int, int, int]  # x, y, width, height


@dataclass(frozen=True, slots=True)
class Place:
    """The path of an edge, and where its words begin; `anchor` is SVG's text-anchor."""

    path: str
    x: int
    y: int
    anchor: str = "middle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One picture: its size, its boxes by phase or group, and its edges."""

    width: int
    height: int
    phases: dict[str, Box]
    groups: dict[str, Box]
    edges: dict[tuple[str, str], Place]


SUBTASK = Layout(
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
    groups={"settled": (740, 30, 200, 400)},
    edges={
        (START, "Pending"): Place("M79 56 V206", 88, 100, "start"),
        ("Pending", "Running"): Place("M200 228 H436", 318, 220),
        ("Pending", "Queued"): Place("M150 210 C 160 120 290 66 436 66", 290, 54),
        ("Queued", "Pending"): Place("M440 96 C 330 100 240 140 180 206", 340, 132, "start"),
        ("Queued", "Running"): Place("M515 110 V206", 524, 140, "start"),
        ("Running", "Queued"): Place("M475 210 V114", 466, 192, "end"),
        ("Running", "Pending"): Place("M440 252 H204", 318, 272),
        ("Running", "Done"): Place("M600 216 C 700 216 680 104 756 104", 684, 78),
        ("Running", "NeedsReview"): Place("M600 246 H756", 668, 239),
        ("Running", "Skipped"): Place("M600 262 C 700 272 660 366 756 366", 656, 326, "end"),
        ("Done", "NeedsReview"): Place("M790 132 V206", 799, 172, "start"),
        (ANY, "Skipped"): Place("M600 386 H756", 668, 404),
        (ANY, END): Place("M520 396 V430", 530, 420, "start"),
        ("settled", "Pending"): Place("M760 430 C 740 482 120 520 120 274", 250, 470),
    },
)
PACKAGE = Layout(
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
    groups={"progressing": (30, 44, 510, 326), "at its end": (750, 44, 190, 326)},
    edges={
        (START, ANY): Place("M69 616 H136", 102, 608),
        ("Pending", "Running"): Place("M190 246 H376", 284, 240),
        ("Running", "Pending"): Place("M380 268 H194", 286, 286),
        ("Pending", "Queued"): Place("M90 230 C 90 150 120 96 196 96", 60, 110, "start"),
        ("Queued", "Pending"): Place("M222 132 C 200 180 180 190 150 226", 170, 164, "end"),
        ("Queued", "Running"): Place("M340 96 C 420 96 440 170 440 226", 360, 76, "start"),
        ("Running", "Queued"): Place("M400 230 C 390 190 330 170 300 136", 352, 206, "end"),
        ("progressing", "Succeeded"): Place("M540 106 H766", 645, 98),
        ("progressing", "NeedsReview"): Place("M540 201 H766", 645, 193),
        ("progressing", "Failed"): Place("M540 296 H766", 645, 272),
        ("NeedsReview", "Succeeded"): Place("M800 175 V136", 808, 158, "start"),
        ("Failed", "Succeeded"): Place("M925 290 C 945 230 945 160 924 112", 922, 250, "end"),
        ("at its end", "Running"): Place("M800 370 V400 H470 V286", 650, 394),
        ("at its end", "Pending"): Place("M850 370 V440 H100 V286", 300, 418),
        ("progressing", "Stalled"): Place("M520 370 V536", 530, 468, "start"),
        ("at its end", "Stalled"): Place("M900 370 V576 H624", 770, 552),
        (ANY, "Stalled"): Place("M250 599 C 280 556 380 554 476 554", 372, 548),
        ("Stalled", ANY): Place("M480 580 C 400 582 350 606 284 610", 416, 605),
        (ANY, "Suspended"): Place("M280 622 C 350 626 400 652 476 656", 424, 637),
        ("Suspended", ANY): Place("M480 682 C 380 686 260 684 250 637", 352, 702),
    },
)
