"""Names and paths inside the episode's pod, which the pod's builder and the runner share."""

RUNNER = "runner"
AGENT = "agent"
VERIFY = "verify"

# Only the runner mounts these.
GIT_DIR = "/afresh/git"
PODINFO_DIR = "/afresh/podinfo"
ORDER_FILE = f"{PODINFO_DIR}/order"
GIT_SECRET_DIR = "/afresh/secrets/git"
SIGNING_SECRET_DIR = "/afresh/secrets/signing"
MODEL_SECRET_DIR = "/afresh/secrets/model"
# Without a cluster: what the agent must send to the gateway, which others could reach as well.
AGENT_KEY_FILE = "/afresh/agent-key"
CA_DIR = "/afresh/ca"
CACHE_DIR = "/afresh/cache"
TOKEN_DIR = "/afresh/token"
TOKEN_NAME = "token"
TOKEN_FILE = f"{TOKEN_DIR}/{TOKEN_NAME}"
TOKEN_AUDIENCE = "afresh"

# Shared by the runner and the agent.
WORKTREE = "/workspace"
AGENT_HOME = "/home/agent"

# The runner's view of the two control volumes; agent and verify see theirs read-only at CONTROL.
AGENT_CONTROL = "/afresh/control/agent"
VERIFY_CONTROL = "/afresh/control/verify"
CONTROL = "/afresh/control"
# On each control volume, where the class has a caBundle: the public authorities and its own.
AUTHORITIES_NAME = "authorities.crt"

# The runner's view of the clean checkout; the verify container sees it at WORKTREE.
CHECKOUT = "/afresh/checkout"

GATEWAY_PORT = 8787

# Labels and annotations on all objects that the operator creates.
LABEL_PACKAGE = "afresh.dev/package"
LABEL_SUBTASK = "afresh.dev/subtask"
LABEL_ATTEMPT = "afresh.dev/attempt"
LABEL_MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGED_BY = "afresh"
ANNOTATION_ORDER = "afresh.dev/order"
ANNOTATION_PASSWD = "afresh.dev/passwd"
# The facts about an episode that the operator needs if only its Job or pod is left.
ANNOTATION_BATCH = "afresh.dev/batch"
ANNOTATION_MODE = "afresh.dev/context-mode"
ANNOTATION_GENERATIONS = "afresh.dev/generations"
ANNOTATION_INPUTS = "afresh.dev/inputs"
ANNOTATION_IMAGES = "afresh.dev/images"
ANNOTATION_GATE = "afresh.dev/gate"
ANNOTATION_BUDGET = "afresh.dev/budget"
ANNOTATION_PLAN = "afresh.dev/plan"
LABEL_AGENT_CLASS = "afresh.dev/agent-class"
# The MAC by which the operator recognizes the objects that it created.
ANNOTATION_SEAL = "afresh.dev/seal"
