"""Where the phases and the edges of each picture are drawn: data, found by looking.

An edge without a place here is drawn as a straight line between its phases.
"""

from dataclasses import dataclass

from deploy.docs.edges import ANY, END, START

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
        START: (112, 40, 14, 14),
        "Pending": (40, 210, 160, 60),
        "Running": (440, 210, 160, 60),
        "Queued": (440, 50, 160, 60),
        "Done": (760, 72, 160, 60),
        "NeedsReview": (760, 210, 160, 60),
        "Skipped": (760, 348, 160, 60),
        ANY: (440, 362, 160, 34),
        END: (513, 462, 14, 14),
    },
    groups={"settled": (740, 30, 200, 400)},
    edges={
        (START, "Pending"): Place("M119 56 V206", 130, 100, "start"),
        ("Pending", "Running"): Place("M200 228 H436", 318, 220),
        ("Pending", "Queued"): Place("M130 210 C 140 100 280 66 436 66", 300, 62),
        ("Queued", "Pending"): Place("M440 96 C 330 100 240 140 180 206", 318, 128, "start"),
        ("Queued", "Running"): Place("M545 110 V206", 555, 150, "start"),
        ("Running", "Queued"): Place("M500 210 V114", 490, 180, "end"),
        ("Running", "Pending"): Place("M440 252 H204", 318, 272),
        ("Running", "Done"): Place("M600 222 C 680 210 660 104 756 104", 664, 96),
        ("Running", "NeedsReview"): Place("M600 240 H756", 668, 232),
        ("Running", "Skipped"): Place("M600 258 C 680 270 660 366 756 366", 690, 322),
        (ANY, "Skipped"): Place("M600 386 H756", 668, 404),
        (ANY, END): Place("M520 396 V458", 530, 432, "start"),
        ("settled", "Pending"): Place("M760 430 C 740 482 120 520 120 274", 250, 470),
    },
)
PACKAGE = Layout(
    width=960,
    height=620,
    phases={
        START: (443, 20, 14, 14),
        "Pending": (50, 230, 140, 52),
        "Queued": (200, 80, 140, 52),
        "Running": (380, 230, 140, 52),
        "Succeeded": (770, 80, 150, 52),
        "NeedsReview": (770, 165, 150, 52),
        "Failed": (770, 250, 150, 52),
        ANY: (60, 500, 140, 34),
        "Stalled": (500, 450, 140, 52),
        "Suspended": (500, 540, 140, 52),
    },
    groups={"progressing": (30, 44, 510, 276), "at its end": (750, 44, 190, 276)},
    edges={
        (START, "Running"): Place("M450 36 V226", 460, 78, "start"),
        ("Pending", "Running"): Place("M190 246 H376", 284, 240),
        ("Running", "Pending"): Place("M380 268 H194", 286, 284),
        ("Pending", "Queued"): Place("M90 230 C 90 150 120 96 196 96", 60, 130, "start"),
        ("Queued", "Pending"): Place("M222 132 C 200 180 180 190 150 226", 212, 180, "start"),
        ("Queued", "Running"): Place("M340 96 C 420 96 430 170 430 226", 346, 84, "start"),
        ("Running", "Queued"): Place("M396 230 C 380 180 330 170 300 136", 366, 166, "start"),
        ("progressing", "Succeeded"): Place("M540 106 H766", 640, 98),
        ("progressing", "NeedsReview"): Place("M540 191 H766", 640, 183),
        ("progressing", "Failed"): Place("M540 276 H766", 640, 268),
        ("NeedsReview", "Succeeded"): Place("M800 165 V136", 808, 154, "start"),
        ("at its end", "Running"): Place("M800 320 V352 H470 V286", 640, 346),
        ("at its end", "Pending"): Place("M850 320 V384 H100 V286", 300, 378),
        ("progressing", "Stalled"): Place("M520 320 C 530 400 540 410 550 446", 560, 412, "start"),
        ("at its end", "Stalled"): Place("M900 320 V476 H644", 780, 468),
        (ANY, "Stalled"): Place("M200 508 C 300 508 360 466 496 466", 330, 458),
        ("Stalled", ANY): Place("M500 490 C 400 490 320 516 204 516", 400, 512),
        (ANY, "Suspended"): Place("M200 524 C 300 524 380 556 496 556", 330, 536),
        ("Suspended", ANY): Place("M500 578 C 340 578 150 580 130 538", 300, 596),
    },
)
