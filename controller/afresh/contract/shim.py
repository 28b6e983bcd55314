"""The shell text that is process 1 of the agent's and of verify's container.

Owns the container's half of the control protocol; `episode.control` is the runner's half. It must
run under dash, bash in POSIX mode and busybox ash, with nothing but a shell in the image.

The control volume is mounted read-only. The runner makes the FIFOs `go`, `done`, `out` and `err`
in it; `go` appears last. Lines on `go`:

- `keys KEY NAME KEY KEY ...`: the words by which answers are believed: one for `killed`, and two
  for each command that may follow. Nobody but this process has seen them; each is used up once.
- `run NAME`: run NAME.sh from the control volume, NAME.stdin as its input if there is one.
  Answers `started KEY`, and `rc KEY CODE` at its end; without keys, nothing.
- `term`, `kill`: signal every process of the container but this one. `kill` answers `killed KEY`
  when none is left.
- `exit`: end.

A process with root's rights can read and write these FIFOs through /proc/1/fd; from everybody else
the runner takes the rights to `go` and `done` away after `hello`. All the same, keys come only
while there is no other process: after `hello`, and after `killed`. They are shell variables, never
exported and never an argument of a program. A kernel that lets a process trace any other of the
same user (kernel.yama.ptrace_scope 0) lets it read them, and no shell can prevent that.

While a command runs, a listener reads `go`; at other times process 1 does. The command runs in the
foreground, because a shell starts background commands with SIGINT ignored, and because process 1
reaps orphans while it waits. A shell does not run a trap before its foreground command ends, so
during a command it is the runner, which gets TERM at the same moment, that passes TERM on.
`go` at its end means that the runner is gone: everything is killed. A file `closed` in the place of
`go` means that the runner was done before this container started.
"""

SHIM = r"""
control=${AFRESH_CONTROL:-/afresh/control}
trap 'exit 143' TERM
# A variable of the image's environment would stay exported.
unset keys killed line started ended
while [ ! -p "$control/go" ]; do
  [ -e "$control/closed" ] && exit 0
  sleep 0.02 2>/dev/null || sleep 1
done
exec 3<"$control/go" 4>"$control/done" 5>"$control/out" 6>"$control/err"

say() { printf '\n%s\n' "$*" >&4; }

if [ $$ -ne 1 ]; then
  say refused first
  echo 'afresh: this must be the first process of a container' >&2
  exit 1
fi

limited() {
  while read -r first second soft rest; do
    case "$first $second $soft" in
      'Max processes unlimited') return 1 ;;
      'Max processes '*) [ "$soft" -le "$1" ]; return ;;
    esac
  done </proc/self/limits
  return 1
}

alone() {
  read -r me rest </proc/self/stat
  for process in /proc/[0-9]*; do
    case ${process#/proc/} in
      1 | "$me") ;;
      *) return 1 ;;
    esac
  done
}

kill_all() {
  rounds=0
  while [ $rounds -lt 200 ]; do
    kill -s KILL -- -1 2>/dev/null
    wait
    alone && return 0
    rounds=$((rounds + 1))
    sleep 0.02 2>/dev/null || sleep 1
  done
  return 1
}

obey() {
  case $1 in
    term) kill -s TERM -- -1 2>/dev/null ;;
    kill) kill_all && say killed "$killed" ;;
  esac
}

listen() {
  while read -r verb rest <&3; do obey "$verb"; done
  kill -s KILL -- -1
}

take_keys() {
  case $keys in *" $1 "*) ;; *) return 1 ;; esac
  line=${keys#*" $1 "}
  keys=${keys%%" $1 "*}
  started=${line%% *}
  line=${line#* }
  ended=${line%% *}
  keys="$keys ${line#* }"
}

run() {
  take_keys "$1" || return
  input=/dev/null
  [ -f "$control/$1.stdin" ] && input=$control/$1.stdin
  listen >/dev/null 2>&1 &
  listener=$!
  say started "$started"
  /bin/sh "$control/$1.sh" <"$input" >&5 2>&6 3<&- 4>&- 5>&- 6>&-
  code=$?
  kill -s KILL $listener 2>/dev/null
  wait $listener 2>/dev/null
  say rc "$ended" $code
}

if [ -n "${AFRESH_PIDS_LIMIT:-}" ]; then
  ulimit -u "$AFRESH_PIDS_LIMIT" 2>/dev/null || ulimit -p "$AFRESH_PIDS_LIMIT" 2>/dev/null
  if ! limited "$AFRESH_PIDS_LIMIT"; then
    say refused pids
    exit 1
  fi
fi
say hello
while read -r verb rest <&3; do
  case $verb in
    keys) killed=${rest%% *} keys=" ${rest#* } " ;;
    run) run "$rest" ;;
    exit) exit 0 ;;
    *) obey "$verb" ;;
  esac
done
kill_all
exit 125
"""
