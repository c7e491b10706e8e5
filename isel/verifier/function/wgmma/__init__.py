"""Rules about wgmma's operands while it reads and writes them: registers and shared memory."""
