"""The rows of the dashboard's panels, each with its expressions. Knows nothing about Grafana.

`$cluster`, `$job`, `$namespace` and `$agent_class` are the selections of the dashboard's user.
The label `cluster` is added by a Prometheus of several clusters; without it `.*` matches too.
"""

from dataclasses import dataclass

CLUSTER = 'cluster=~"$cluster"'
OPERATORS = f'{CLUSTER}, job=~"$job"'
OWN = f'{OPERATORS}, namespace=~"$namespace", agent_class=~"$agent_class"'
NAMESPACE = f'{OPERATORS}, namespace=~"$namespace"'
CLASS = f'{OPERATORS}, agent_class=~"$agent_class"'
LOOP = f'{OPERATORS}, controller="workpackage"'
RANGE = "$__rate_interval"
# Independent of Grafana's window: episodes take minutes, and a rate over seconds would be empty.
HOUR = "1h"
# The pods of episodes, among all that have a container called agent.
# Several clusters may have a pod of one name.
POD = "cluster, namespace, pod"
AGENT = f'{CLUSTER}, namespace=~"$namespace", container="agent"'
OURS = f'and on ({POD}) container_memory_working_set_bytes{{{CLUSTER}, container="verify"}}'
OPERATOR = f"on (cluster, job, instance) group_left () afresh_build_info{{{OPERATORS}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel. `queries` are pairs of an expression and its legend.

    `kind` is Grafana's type of the panel. `rare`: it has no data unless something unusual has
    happened, or metrics of other programs are scraped.
    """

    title: str
    text: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    stacked: bool = False
    rare: bool = False


def _stat(title: str, text: str, query: str, unit: str = "short") -> Panel:
    return Panel(title=title, text=text, queries=((query, ""),), unit=unit, kind="stat", width=4)


def _quantiles(name: str, labels: str) -> tuple[tuple[str, str], ...]:
    rate = f"sum by (le) (rate({name}_bucket{{{labels}}}[{HOUR}]))"
    return tuple((f"histogram_quantile({q}, {rate})", f"p{int(q * 100)}") for q in (0.5, 0.95))


NOW = (
    _stat("Running episodes", "Episodes whose Job runs.",
          f'sum(afresh_live_episodes{{{OWN}, state="running"}}) or vector(0)'),
    _stat("Active packages", "Packages in phase Running or Queued.",
          f'sum(afresh_packages{{{OWN}, phase=~"Running|Queued"}}) or vector(0)'),
    _stat("Packages that wait for a person", "Stalled, NeedsReview or Failed.",
          f'sum(afresh_packages{{{OWN}, phase=~"Stalled|NeedsReview|Failed"}}) or vector(0)'),
    _stat("Closed gates", "Credentials whose provider refuses requests.",
          f'count(afresh_gate_open{{{NAMESPACE}}} == 0) or vector(0)'),
    _stat("Cost, 24 hours", "The cost of episodes that ended in the last 24 hours.",
          f"sum(increase(afresh_cost_usd_total{{{OWN}}}[1d]))", "currencyUSD"),
    _stat("Overhead, 24 hours", "The share of time outside setup, agent and acceptance command.",
          f'sum(increase(afresh_episode_seconds_total{{{OWN}, kind="overhead"}}[1d])) '
          f"/ sum(increase(afresh_episode_seconds_total{{{OWN}}}[1d]))", "percentunit"),
)  # fmt: skip

PACKAGES = (
    Panel(title="Packages by phase", text="All packages that exist.", stacked=True,
          queries=((f"sum by (phase) (afresh_packages{{{OWN}}})", "{{phase}}"),)),
    Panel(title="Subtasks by phase", text="The subtasks of all packages that exist.", stacked=True,
          queries=((f"sum by (phase) (afresh_subtasks{{{OWN}}})", "{{phase}}"),)),
    Panel(title="Packages by reason", text="The reason of the condition Ready.",
          queries=((f"sum by (reason) (afresh_packages{{{OWN}}})", "{{reason}}"),)),
)  # fmt: skip

EPISODES = (
    Panel(title="Outcomes, 1 hour", text="Episodes that ended, by outcome.", stacked=True,
          queries=((f"sum by (outcome) (increase(afresh_episodes_total{{{OWN}}}[{HOUR}])) > 0",
                    "{{outcome}}"),)),
    Panel(title="Success rate, 1 hour", text="Successful share of ended episodes, by class.",
          unit="percentunit",
          queries=((f'sum by (agent_class) (increase(afresh_episodes_total{{{OWN}, '
                    f'outcome="Success"}}[{HOUR}])) / sum by (agent_class) '
                    f"(increase(afresh_episodes_total{{{OWN}}}[{HOUR}]))", "{{agent_class}}"),)),
    Panel(title="Episodes and limits", text="Queued and running, by class, with its limit.",
          rare=True,
          queries=((f"sum by (agent_class, state) (afresh_live_episodes{{{OWN}}})",
                    "{{agent_class}} {{state}}"),
                   (f"afresh_agent_class_max_concurrent_episodes{{{CLASS}}}",
                    "{{agent_class}} limit"))),
    Panel(title="Episodes by runtime class",
          text="The share of the last day. A runtime class adds a sandbox, such as gVisor.",
          stacked=True, unit="percentunit",
          queries=((f"sum by (runtime_class) (increase(afresh_episodes_total{{{OWN}}}[1d])) "
                    f"/ ignoring (runtime_class) group_left () sum (increase("
                    f"afresh_episodes_total{{{OWN}}}[1d]))", "{{runtime_class}}"),)),
    Panel(title="Packages by context mode", text="The share of all packages that exist.",
          stacked=True, unit="percentunit",
          queries=((f"sum by (context_mode) (afresh_packages{{{OWN}}}) "
                    f"/ ignoring (context_mode) group_left () sum (afresh_packages{{{OWN}}})",
                    "{{context_mode}}"),)),
    Panel(title="Exhausted contexts, 24 hours", text="With fresh contexts there should be none.",
          queries=((f'sum by (context_mode) (increase(afresh_episodes_total{{{OWN}, '
                    'outcome="ContextExhausted"}[1d]))', "{{context_mode}}"),)),
)  # fmt: skip

TIMES = (
    Panel(title="Where an episode's time goes", text="The mean of each part over an hour.",
          stacked=True, unit="s",
          queries=((f"sum by (phase) (rate(afresh_episode_phase_seconds_sum{{{CLASS}}}[{HOUR}])) "
                    f"/ sum by (phase) (rate(afresh_episode_phase_seconds_count{{{CLASS}}}"
                    f"[{HOUR}]))", "{{phase}}"),)),
    Panel(title="Hand-over", text="From the end of one agent to the start of the next.", unit="s",
          queries=_quantiles("afresh_hand_over_seconds", CLASS)),
    Panel(title="Agent time", text="How long the agent of an episode works.", unit="s",
          queries=_quantiles("afresh_episode_phase_seconds", f'{CLASS}, phase="agent"')),
)  # fmt: skip

MODELS = (
    Panel(title="Tokens, 1 hour", text="Tokens of ended episodes, by kind.", stacked=True,
          queries=((f"sum by (kind) (increase(afresh_tokens_total{{{OWN}}}[{HOUR}]))",
                    "{{kind}}"),)),
    Panel(title="Cost, 1 hour", text="Cost of ended episodes, by class.", unit="currencyUSD",
          queries=((f"sum by (agent_class) (increase(afresh_cost_usd_total{{{OWN}}}[{HOUR}]))",
                    "{{agent_class}}"),)),
    Panel(title="Gates", text="1: the credential may be used; 0: its provider refuses requests.",
          rare=True,
          queries=((f"afresh_gate_open{{{NAMESPACE}}}", "{{namespace}} {{secret_name}}"),
                   )),
)  # fmt: skip

# The kubelets' metrics of running episodes, at /metrics/cadvisor; all but the limit are also at
# /metrics/resource. If both are scraped, the expressions use one of them.
PODS = (
    Panel(title="Agents' memory", text="Working set of the ten largest.", unit="bytes",
          rare=True,
          queries=((f"topk(10, max by ({POD}) (container_memory_working_set_bytes{{{AGENT}}} "
                    f"{OURS}))", "{{namespace}} {{pod}}"),)),
    Panel(title="Agents' CPU", text="Cores used by the ten busiest.", rare=True,
          queries=((f"topk(10, max by ({POD}) (rate(container_cpu_usage_seconds_total{{{AGENT}}}"
                    f"[{RANGE}]) {OURS}))", "{{namespace}} {{pod}}"),)),
    Panel(title="Agents' memory, share of the limit",
          text="At 1 the agent is killed, and the episode ends as OutOfMemory.",
          unit="percentunit", rare=True,
          queries=((f"topk(10, max by ({POD}) (container_memory_working_set_bytes{{{AGENT}}} "
                    f"{OURS}) / max by ({POD}) (container_spec_memory_limit_bytes{{{AGENT}}} > 0))",
                    "{{namespace}} {{pod}}"),)),
)  # fmt: skip

OPERATOR_ITSELF = (
    Panel(title="Steps of the loop", text="Steps by result.", unit="ops",
          queries=((f"sum by (result) (rate(controller_runtime_reconcile_total{{{LOOP}}}"
                    f"[{RANGE}]))", "{{result}}"),)),
    Panel(title="Duration of a step", text="How long one step of the loop takes.", unit="s",
          queries=_quantiles("controller_runtime_reconcile_time_seconds", LOOP)),
    Panel(title="Queue", text="Packages that wait for a worker, and busy workers.",
          queries=((f"sum(workqueue_depth{{{LOOP}}})", "waiting"),
                   (f"sum(controller_runtime_active_workers{{{LOOP}}})", "busy"),
                   (f"sum(controller_runtime_max_concurrent_reconciles{{{LOOP}}})", "workers"))),
    Panel(title="Time in the queue", text="How long a package waits for a worker.", unit="s",
          queries=_quantiles("workqueue_queue_duration_seconds", LOOP)),
    Panel(title="Requests to the API server", text="By status code, without watches.", unit="reqps",
          queries=((f"sum by (code) (rate(rest_client_requests_total[{RANGE}]) * {OPERATOR})",
                    "{{code}}"),)),
    Panel(title="Operator's memory", text="Resident memory, by replica.", unit="bytes",
          queries=((f"process_resident_memory_bytes * {OPERATOR}", "{{instance}}"),)),
)  # fmt: skip

ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    ("Now", NOW),
    ("Packages", PACKAGES),
    ("Episodes", EPISODES),
    ("Time", TIMES),
    ("Models", MODELS),
    ("Pods", PODS),
    ("Operator", OPERATOR_ITSELF),
)
