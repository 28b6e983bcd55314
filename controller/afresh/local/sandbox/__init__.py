"""What keeps an agent in its worktree, when there is no container runtime to do it."""
