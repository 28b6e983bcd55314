"""The command `afresh`: what people do with packages beyond kubectl. Needs no operator's rights."""
