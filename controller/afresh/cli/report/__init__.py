"""What `afresh report` and `afresh compare` tell, from objects to text and pages."""
