"""What a list of subtasks may not hold."""

from tests.api.manifests import ABSENT, entries, entry
from tests.api.refusal import first, of_package, subtasks

SUBTASKS = (
    of_package(
        "unknown dependency",
        subtasks(entry("T001"), entry("T002", dependsOn=["T001", "T009"])),
        "spec.subtasks",
        "dependsOn names a subtask that does not exist: correct the id",
    ),
    of_package(
        "dependency on itself",
        first(dependsOn=["T001"]),
        "spec.subtasks[0].dependsOn",
        "dependsOn names the subtask itself: remove it",
    ),
    of_package("duplicate id", subtasks(entry("T1"), entry("T2"), entry("T1")), "spec.subtasks[2]"),
    of_package(
        "same dependency twice",
        subtasks(entry("T1"), entry("T2", dependsOn=["T1", "T1"])),
        "spec.subtasks[1].dependsOn[1]",
    ),
    of_package(
        "17 dependencies",
        subtasks(*entries(17), entry("T099", dependsOn=[f"T{n:03d}" for n in range(17)])),
        "spec.subtasks[17].dependsOn: Too many: 17: must have at most 16",
    ),
    of_package(
        "201 subtasks",
        {"spec.subtasks": entries(201), "spec.maxEpisodes": 300},
        "spec.subtasks: Too many: 201: must have at most 200",
    ),
    of_package("no subtask in the list", {"spec.subtasks": []}, "spec.subtasks"),
    of_package("no list of subtasks", {"spec.subtasks": ABSENT}, "spec.subtasks: Required"),
    of_package("subtask without id", subtasks({"prompt": "Do it."}), "spec.subtasks[0].id"),
    of_package("id of 21 characters", subtasks(entry("T" * 21)), "spec.subtasks[0].id"),
    of_package("empty id", subtasks(entry("")), "spec.subtasks[0].id"),
    of_package("id with a slash", subtasks(entry("a/b")), "spec.subtasks[0].id"),
    of_package(
        "id that is no git ref",
        subtasks(entry("a.lock")),
        "spec.subtasks[0].id",
        "an id becomes part of a git ref: no '..', and neither '.' nor '.lock' at the end",
    ),
    of_package("title of two lines", first(title="a\nb"), "spec.subtasks[0].title", "one line"),
    of_package("subtask without prompt", subtasks({"id": "T001"}), "spec.subtasks[0].prompt"),
    of_package("empty prompt", first(prompt=""), "spec.subtasks[0].prompt", "prompt is empty"),
    of_package("blank prompt", first(prompt=" \n"), "spec.subtasks[0].prompt", "prompt is empty"),
    of_package("prompt over 32 KiB", first(prompt="p" * 32769), "spec.subtasks[0].prompt"),
    of_package(
        "prompt over 32 KiB in fewer characters",
        first(prompt="é" * 16385),
        "spec.subtasks[0].prompt",
        "prompt is over 32 KiB",
    ),
    of_package(
        "prompts over 160 KiB together",
        subtasks(*(entry(f"T{n}", prompt="é" * 16384) for n in range(5)), entry("T5")),
        "spec.subtasks",
        "the prompts of spec.subtasks are over 160 KiB together",
    ),
    of_package(
        "absolute path in files",
        first(files=["src/**", "/etc/passwd"]),
        "spec.subtasks[0].files[1]",
        "files holds globs relative to the root of the repository",
    ),
    of_package(
        "path out of the repository in files",
        first(files=["src/../../x"]),
        "spec.subtasks[0].files[0]",
        "files holds globs relative to the root of the repository",
    ),
    of_package("negative maxNewFiles", first(maxNewFiles=-1), "spec.subtasks[0].maxNewFiles"),
    of_package(
        "unknown reason of a revision",
        first(revision=1, revisionReason="Ugly"),
        "spec.subtasks[0].revisionReason",
    ),
    of_package("negative revision", first(revision=-1), "spec.subtasks[0].revision"),
    of_package("21 directives", first(guidance=[str(n) for n in range(21)]), "[0].guidance"),
    of_package("directive too long", first(guidance=["g" * 501]), "[0].guidance[0]"),
)
