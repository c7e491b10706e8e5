"""Instructions as methods: what each verb takes, from the machine's rows and LLVM's patterns."""
