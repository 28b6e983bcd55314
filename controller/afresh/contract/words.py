"""The enums that both sides of the pod's boundary use; users see their values."""

from enum import StrEnum


class ProviderFault(StrEnum):
    """The failures of a model's provider that may pass by themselves."""

    RATE_LIMITED = "RateLimited"
    OVERLOADED = "Overloaded"
    UNREACHABLE = "Unreachable"
    EMPTY_ANSWERS = "EmptyAnswers"
    MODEL_SILENT = "ModelSilent"


class Marker(StrEnum):
    """The state of a subtask as one line of the plan shows it (S4-2)."""

    PENDING = "[ ]"
    RUNNING = "[~]"
    DONE = "[x]"
    NEEDS_REVIEW = "[!]"
    SKIPPED = "[S]"


class ContextMode(StrEnum):
    """How much work one agent context is given (S0-2, S3-2)."""

    FRESH_PER_SUBTASK = "FreshPerSubtask"
    FRESH_PER_EPIC = "FreshPerEpic"
    PERSISTENT = "Persistent"


class AdapterName(StrEnum):
    """The agent programs that Afresh can drive."""

    CLAUDE = "Claude"
    CODEX = "Codex"
    GEMINI = "Gemini"
    OPENCODE = "OpenCode"
    AIDER = "Aider"
    QWEN = "Qwen"
    COMMAND = "Command"


class ModelApiName(StrEnum):
    """The model APIs that the gateway understands."""

    ANTHROPIC = "Anthropic"
    OPENAI = "OpenAI"
    GEMINI = "Gemini"


class CredentialsMode(StrEnum):
    """Who holds the model's key: the runner's gateway, or the agent itself."""

    GATEWAY = "Gateway"
    ENVIRONMENT = "Environment"


class PushRefusal(StrEnum):
    """What the repository's server has refused, and where the work is."""

    PLAN = "Plan"  # the plan alone, before any agent
    KEPT = "Kept"  # verified work, which is kept on the subtask's side ref
    LOST = "Lost"  # verified work, which the server would not keep either
    WORK_ONLY = "WorkOnly"  # as Lost, but the server takes the plan: only a person can help


class ServerTools(StrEnum):
    """Whether the model's provider may run tools for an agent: search, fetch, execute code."""

    REFUSED = "Refused"
    ALLOWED = "Allowed"


class Checkout(StrEnum):
    """What the acceptance command is run on."""

    CLEAN = "Clean"
    WORKTREE = "Worktree"


class Outcome(StrEnum):
    """How an episode ended for one subtask. `contract.outcomes` says what follows from each."""

    SUCCESS = "Success"
    NO_CHANGES = "NoChanges"
    BLOCKED = "Blocked"
    OUT_OF_SCOPE = "OutOfScope"
    VERIFY_FAILED = "VerifyFailed"
    AGENT_ERROR = "AgentError"
    NO_RESULT = "NoResult"
    TURN_LIMIT = "TurnLimit"
    TIMEOUT = "Timeout"
    CONTEXT_EXHAUSTED = "ContextExhausted"
    OUT_OF_MEMORY = "OutOfMemory"
    PROCESS_LIMIT = "ProcessLimit"
    DISK_FULL = "DiskFull"
    TRANSIENT = "Transient"
    MODEL_SILENT = "ModelSilent"
    INFRASTRUCTURE = "Infrastructure"
    AUTH = "Auth"
    CONFIG = "Config"
    BRANCH_IN_USE = "BranchInUse"
    BUDGET_EXCEEDED = "BudgetExceeded"
    CONFLICT = "Conflict"
    CANCELLED = "Cancelled"
